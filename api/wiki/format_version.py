"""The two versions of MediaWiki's JSON, from one tree (https://www.mediawiki.org/wiki/API:JSON_version_2).

Marks at the end of a key say what differs. `name*` is the content of its object: version 1 calls it `*`. `name{}` is
a value that version 1 wraps in an object of its own. `name#` is a list of pages that version 1 keys by page number.
True is `""` in version 1, where False is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Tree: TypeAlias = dict[str, object]


def shaped(value: object, version: int) -> object:
    """The tree as that version of the format has it."""
    if isinstance(value, Mapping):
        fields = (_field(str(key), one, version) for key, one in value.items() if version > 1 or one is not False)
        return {key: shaped(one, version) for key, one in fields}
    if isinstance(value, list | tuple):
        return [shaped(one, version) for one in value]
    return "" if value is True and version == 1 else value


def _field(key: str, value: object, version: int) -> tuple[str, object]:
    if key.endswith("*"):
        return ("*" if version == 1 else key[:-1]), value
    if key.endswith("{}"):
        return key[:-2], ({"*": value} if version == 1 else value)
    if key.endswith("#"):
        return key[:-1], (_by_number(value) if version == 1 and isinstance(value, list) else value)
    return key, value


def _by_number(pages: Sequence[Mapping[str, object]]) -> Tree:
    """Pages that are not there are numbered downwards from -1."""
    found: Tree = {}
    absent = 0
    for page in pages:
        if "pageid" not in page:
            absent -= 1
        found[str(page.get("pageid", absent))] = page
    return found


def written(tree: object, version: int, plain: bool) -> bytes:
    """As JSON: version 1 escapes all but ASCII unless it is asked for `plain` UTF-8."""
    escaped = version == 1 and not plain
    text = json.dumps(shaped(tree, version), ensure_ascii=escaped, separators=(",", ":"))
    return text.encode("utf-8", "replace")
