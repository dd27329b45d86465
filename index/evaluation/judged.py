"""Reads queries and judgments from files: BEIR's and TREC's formats, and task files.

A page is identified by its URL, or by an id that an `IdResolver` maps to one. No snapshot is needed here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from webemu.emulator import urls
from webemu.emulator.errors import BadRequest

IdResolver = Callable[[str], str]
"""Function from a page id to its URL."""
Judgments = Mapping[str, Mapping[str, int]]
"""Grades by query id and URL."""


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query whose answers are known."""

    id: str
    text: str
    kind: str = ""
    """Group of the query, such as `anchor`; empty if it has none."""
    half: str = ""
    """`fit` if weights may be fitted on it, `report` if not; empty if unknown."""


def read_queries(path: Path) -> tuple[JudgedQuery, ...]:
    """Return the queries of a file: JSON Lines (`_id`, `text`, optional `kind` and `half`), or id, tab, text.

    Raises BadRequest with the line that cannot be read.
    """
    queries_by_id = {}
    for number, line in _lines(path):
        row = _parse_object(path, number, line) if line.lstrip().startswith("{") else _parse_pair(path, number, line)
        name, text = row.get("_id", row.get("id")), row.get("text")
        if name is None or not isinstance(text, str):
            raise _line_error(path, number, "has no `_id` or no `text`")
        if str(name) in queries_by_id:
            raise _line_error(path, number, f"has the id {name!r} of an earlier query")
        queries_by_id[str(name)] = JudgedQuery(str(name), text, str(row.get("kind", "")), str(row.get("half", "")))
    return tuple(queries_by_id.values())


def read_judgments(path: Path, url: IdResolver) -> Judgments:
    """Return the grades of a file of three columns (BEIR, perhaps with a header) or four (TREC). Raises BadRequest."""
    grades: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        columns = line.split("\t") if "\t" in line else line.split()
        if len(columns) == 4:
            del columns[1]  # TREC's iteration, which nobody uses
        try:
            query, page, grade = columns[0].strip(), columns[1].strip(), int(columns[2])
        except (IndexError, ValueError):
            if number == 1:
                continue  # the header
            raise _line_error(path, number, "is not query, page and grade") from None
        grades.setdefault(query, {})[url(page)] = grade
    return grades


def read_tasks(path: Path) -> tuple[tuple[JudgedQuery, ...], Judgments]:
    """Return the questions of a task file as queries and their evidence pages as answers; tasks without evidence are
    left out.

    The kind of a query is its number of evidence pages. Raises BadRequest.
    """
    queries, judgments = [], {}
    for number, line in _lines(path):
        row = _parse_object(path, number, line)
        pages, question = row.get("evidence"), row.get("question")
        evidence = [
            evidence_page["url"]
            for evidence_page in (pages if isinstance(pages, list) else ())
            if isinstance(evidence_page, dict) and evidence_page.get("url")
        ]
        if "id" not in row or not isinstance(question, str):
            raise _line_error(path, number, "has no `id` or no `question`")
        if evidence:
            queries.append(JudgedQuery(str(row["id"]), question, f"evidence {len(evidence)}"))
            judgments[str(row["id"])] = {urls.normalize(str(url)): 1 for url in evidence}
    return tuple(queries), judgments


def id_resolver(pattern: str | None) -> IdResolver:
    """Return the function from page ids to URLs.

    `pattern` is None if ids are URLs, a URL that contains `{id}`, or a file of id, tab, URL.
    """
    if pattern is None:
        return urls.normalize
    if "{id}" in pattern:
        return lambda name: urls.normalize(pattern.replace("{id}", quote(name, safe="")))
    path = Path(pattern)
    urls_by_id = {
        row["_id"]: urls.normalize(row["text"])
        for number, line in _lines(path)
        for row in [_parse_pair(path, number, line)]
    }
    return lambda name: urls_by_id.get(name, name)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, numbered from 1. Raises BadRequest if the file cannot be read."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except OSError as error:
        raise BadRequest(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadRequest(f"{path}: not UTF-8 ({error.reason} at byte {error.start:,})") from error


def _parse_object(path: Path, number: int, line: str) -> dict[str, object]:
    """Return the JSON object of a line. Raises BadRequest."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _line_error(path, number, f"is not JSON ({error})") from error
    if not isinstance(row, dict):
        raise _line_error(path, number, "is not a JSON object")
    return row


def _parse_pair(path: Path, number: int, line: str) -> dict[str, str]:
    """Return a line of id, tab, text. Raises BadRequest."""
    name, tab, text = line.partition("\t")
    if not tab:
        raise _line_error(path, number, "has no tab")
    return {"_id": name.strip(), "text": text.strip()}


def _line_error(path: Path, number: int, problem: str) -> BadRequest:
    """Return the error of a line that cannot be read."""
    return BadRequest(f"{path}: line {number:,} {problem}", action="see docs/search_quality.md for the formats")
