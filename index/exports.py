"""Exports traces for training and analysis: JSON lines, conversations, a clickstream. Pure functions over sorted rows.

The clickstream has the columns of Wikipedia's (https://meta.wikimedia.org/wiki/Research:Wikipedia_clickstream):
`prev`, `curr`, `type`, `n`, with URLs in place of titles.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from webemu.emulator.trace import Trace

SEARCH_PAGE, NO_PAGE = "other-search", "other-empty"
"""Pseudo-pages before a result that was opened, and before a page opened without any."""


def format_lines(rows: Iterable[Trace]) -> Iterator[str]:
    """Yield each row as a line of JSON."""
    for row in rows:
        yield json.dumps(row._asdict(), ensure_ascii=False)


def format_conversations(rows: Iterable[Trace]) -> Iterator[str]:
    """Yield each session as a line of JSON: its calls and their results, as messages of OpenAI's chat format.

    A trace has neither the model's reasoning nor page contents; the trainer has to fill them in.
    """
    for session, session_rows in groupby(rows, key=lambda row: row.session):
        # Only steps that returned results or a page: failed ones are no examples to learn from.
        steps = [row for row in session_rows if row.kind in ("search", "open") and row.status == 200]
        if steps:
            head = {"session": session, "task": steps[0].task, "rollout": steps[0].rollout}
            messages = [message for number, row in enumerate(steps) for message in _build_messages(row, number)]
            yield json.dumps({**head, "messages": messages}, ensure_ascii=False)


def _build_messages(row: Trace, number: int) -> tuple[dict[str, object], dict[str, object]]:
    """Return the assistant's call of a step, and the tool's answer."""
    name, arguments = ("search", {"query": row.query}) if row.kind == "search" else ("open", {"url": row.url})
    tool_content: dict[str, object] = {"url": row.url, "rank": row.rank or None}
    if row.kind == "search":
        tool_content = {"results": [{"rank": rank, "url": url} for rank, url in enumerate(row.shown, row.first)]}
    call = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    call_message: dict[str, object] = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{number}", "type": "function"} | {"function": call}],
    }
    return call_message, {
        "role": "tool",
        "tool_call_id": f"call_{number}",
        "content": json.dumps(tool_content, ensure_ascii=False),
    }


def format_clickstream(rows: Iterable[Trace]) -> Iterator[str]:
    """Yield lines of `prev, curr, type, n` separated by tabs, the most frequent first.

    `link`: from the page that the request named as its referer. `external`: from results (`other-search`), or from
    nowhere (`other-empty`). `other`: after another page that is not known to link there.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for _, session_rows in groupby(rows, key=lambda row: row.session):
        previous_url = ""
        for row in session_rows:
            if row.kind == "open" and row.status == 200:
                counts[_transition(row, previous_url)] += 1
                previous_url = row.url
    for (prev, curr, kind), n in sorted(counts.items(), key=lambda transition: (-transition[1], transition[0])):
        yield "\t".join((_clean_cell(prev), _clean_cell(curr), kind, str(n)))


def _transition(row: Trace, previous_url: str) -> tuple[str, str, str]:
    """Return (prev, curr, type) of an opened page; `previous_url` is the page opened before it."""
    if row.referer:
        return row.referer, row.url, "link"
    if row.rank:
        return SEARCH_PAGE, row.url, "external"
    return (previous_url, row.url, "other") if previous_url else (NO_PAGE, row.url, "external")


def _clean_cell(text: str) -> str:
    """Return text without tabs and line ends."""
    return " ".join(text.split())


FORMATS = {"jsonl": format_lines, "sft": format_conversations, "clickstream": format_clickstream}
"""Export functions by the name of their format."""
