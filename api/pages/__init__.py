"""What people look at: a search engine over the snapshot, without a script and without anything from elsewhere.

What crawled pages say is hostile: it is escaped by the templates, bounded, and only http URLs become links.
"""

import re
from collections.abc import Sequence

from webemu.api.http.request import Handler
from webemu.api.pages import browser, results, view
from webemu.api.pages.template import page

PAGES: Sequence[tuple[re.Pattern[str], Handler]] = (
    (re.compile("/"), page(results.home)),
    (re.compile("/search"), page(results.answer)),
    (re.compile("/view"), page(view.answer)),
    (re.compile("/suggest"), page(browser.suggest)),
    (re.compile(r"/opensearch\.xml"), page(browser.opensearch)),
    (re.compile(r"/favicon\.ico"), page(browser.icon)),
)
"""By path; made for the servers' own names."""
