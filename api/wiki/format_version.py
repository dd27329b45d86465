"""Both versions of MediaWiki's JSON from one tree (https://www.mediawiki.org/wiki/API:JSON_version_2).

Suffixes of a key say how the versions differ. `name*` is the content of its object: version 1 calls it `*`. `name{}`
is a value that version 1 wraps in an object of its own. `name#` is a list of pages that version 1 keys by page id.
True is `""` in version 1, where False is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Tree: TypeAlias = dict[str, object]
"""Object of the answer, with suffixed keys."""


def to_format_version(value: object, version: int) -> object:
    """Return the tree in a version (1 or 2) of the format, suffixes resolved."""
    if isinstance(value, Mapping):
        # Version 1 leaves out False.
        fields = (
            _versioned_field(str(key), one, version) for key, one in value.items() if version > 1 or one is not False
        )
        return {key: to_format_version(one, version) for key, one in fields}
    if isinstance(value, list | tuple):
        return [to_format_version(one, version) for one in value]
    return "" if value is True and version == 1 else value


def _versioned_field(key: str, value: object, version: int) -> tuple[str, object]:
    if key.endswith("*"):
        return ("*" if version == 1 else key[:-1]), value
    if key.endswith("{}"):
        return key[:-2], ({"*": value} if version == 1 else value)
    if key.endswith("#"):
        return key[:-1], (_key_by_page_id(value) if version == 1 and isinstance(value, list) else value)
    return key, value


def _key_by_page_id(pages: Sequence[Mapping[str, object]]) -> Tree:
    """Key pages by their id; missing pages are numbered downwards from -1, as MediaWiki does."""
    pages_by_id: Tree = {}
    missing_id = 0
    for page in pages:
        if "pageid" not in page:
            missing_id -= 1
        pages_by_id[str(page.get("pageid", missing_id))] = page
    return pages_by_id


def serialize(tree: object, version: int, is_utf8: bool) -> bytes:
    """Return the tree as JSON bytes. Version 1 escapes non-ASCII characters unless `is_utf8`."""
    is_ascii = version == 1 and not is_utf8
    text = json.dumps(to_format_version(tree, version), ensure_ascii=is_ascii, separators=(",", ":"))
    return text.encode("utf-8", "replace")
