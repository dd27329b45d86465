"""Style sheets that a page names and the crawl does not have: the reason why an old page often looks bare."""

from __future__ import annotations

import html as markup
import re
from typing import NamedTuple

from webemu.emulator import urls
from webemu.emulator.errors import EmulatorError
from webemu.emulator.types import Capture
from webemu.emulator.world import World

HEAD_CHARS = 1 << 17
"""Characters at the start of a document in which style sheets are looked for."""
MAX_SHEETS = 40
"""Most style sheets that are looked up."""
_LINK = re.compile(r"<link\s[^<>]{1,4000}>", re.IGNORECASE)
_RELATION = re.compile(r"""\brel\s*=\s*["']?[^"'>]*\bstylesheet\b""", re.IGNORECASE)
_TARGET = re.compile(r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)


class StyleCount(NamedTuple):
    """Number of style sheets that a page names, and of those that were not captured."""

    named: int
    missing: int


def count_missing_styles(world: World, capture: Capture) -> StyleCount:
    """Return how many of a page's style sheets were not captured; zeros if the document cannot be read."""
    try:
        document = world.html_of(capture) or ""
    except EmulatorError:
        return StyleCount(0, 0)
    tags = [tag for tag in _LINK.findall(document[:HEAD_CHARS]) if _RELATION.search(tag)]
    matches = [match for tag in tags[:MAX_SHEETS] if (match := _TARGET.search(tag))]
    targets = {urls.resolve(capture.url, markup.unescape("".join(filter(None, match.groups())))) for match in matches}
    return StyleCount(len(targets), sum(not world.captures(target) for target in targets))
