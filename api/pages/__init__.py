"""Pages for people: a search engine over the snapshot, with one small script of ours and nothing from other hosts.

Text of crawled pages is hostile. Templates escape it, its length is bounded, and only http and https URLs become
links.
"""

import re
from collections.abc import Sequence

from webemu.api.http.request import Handler
from webemu.api.pages import browser, results, view
from webemu.api.pages.template import as_handler

PAGES: Sequence[tuple[re.Pattern[str], Handler]] = (
    (re.compile("/"), as_handler(results.answer_home)),
    (re.compile("/search"), as_handler(results.answer_search)),
    (re.compile("/view"), as_handler(view.answer_view)),
    (re.compile("/suggest"), as_handler(browser.answer_suggest)),
    (re.compile(r"/opensearch\.xml"), as_handler(browser.answer_opensearch)),
    (re.compile(r"/favicon\.ico"), as_handler(browser.answer_icon)),
)
"""Handlers by path, for the server's own host names."""
