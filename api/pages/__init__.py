"""Pages for people: a search engine over the snapshot, without scripts and without anything from other hosts.

Text of crawled pages is hostile. Templates escape it, its length is bounded, and only http and https URLs become
links.
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
"""Handlers by path, for the server's own host names."""
