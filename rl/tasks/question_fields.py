"""What question sets call their fields, from any of the usual forms. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

QUESTIONS = ("question", "query", "problem", "prompt", "q", "input", "question_text", "claim")
ANSWERS = (
    "answers", "answer", "golden_answers", "gold_answers", "gold", "gold_answer", "ground_truth", "target",
    "expected_answer", "expected_answers", "expected", "possible_answers", "answer_aliases", "aliases", "output", "a",
)  # fmt: skip
URLS = (
    "urls", "url", "gold_urls", "gold_url", "evidence_urls", "evidence", "evidences", "supporting_urls", "source_urls",
    "sources", "source_url", "gold_docs", "supporting_documents", "references", "citations", "wiki_url",
)  # fmt: skip
TITLES = (
    "supporting_facts",
    "gold_titles",
    "titles",
    "evidence_titles",
    "supporting_titles",
    "wikipedia_title",
    "s_wiki_title",
)
IDS = ("id", "_id", "qid", "question_id", "query_id", "uid")


@dataclass(frozen=True, slots=True)
class Names:
    """Fields as the user says; empty ones are found by the usual names."""

    question: str = ""
    answers: str = ""
    urls: str = ""
    titles: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a user's own."""

    id: str
    question: str
    answers: tuple[str, ...]
    urls: tuple[str, ...]
    titles: tuple[str, ...]
    """Pages known by title alone."""


def asked(row: Mapping[str, Any], number: int, names: Names) -> Asked:
    """A row read. Raises ValueError where it has no question."""
    question = named(row, (names.question,) if names.question else QUESTIONS)
    if not isinstance(question, str) or not question.strip():
        raise ValueError(f"no question: its fields are {', '.join(map(str, row))}")
    answers = named(row, (names.answers,) if names.answers else ANSWERS)
    pages = named(row, (names.urls,) if names.urls else URLS)
    titles = named(row, (names.titles,) if names.titles else TITLES)
    return Asked(
        str(next((row[name] for name in IDS if name in row), number)),
        question.strip(),
        _distinct(_texts(answers)),
        _distinct(url for url in _addresses(pages)),
        _distinct(_titles(titles)),
    )


def named(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    """The value of the first of these fields that is there and not empty, whatever the case of its letters."""
    folded = {str(name).casefold(): value for name, value in row.items()}
    return next((value for name in names if (value := folded.get(name.casefold())) not in (None, "", [], {})), None)


def _texts(value: Any) -> Iterator[str]:
    """Answers: a text, a number, a list, TriviaQA's `value` with `aliases`, SQuAD's `text`, a list written as text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            value = json.loads(value)
    if isinstance(value, bool):
        yield "yes" if value else "no"
    elif isinstance(value, str | int | float):
        yield str(value)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for name in ("value", "text", "answer", "target", "aliases", "normalized_aliases"):
            yield from _texts(value.get(name))


def _addresses(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (part for part in value.split() if part.startswith(("http://", "https://")))
    elif isinstance(value, list):
        for one in value:
            yield from _addresses(one)
    elif isinstance(value, dict):
        yield from _addresses(named(value, ("url", "link", "href", "source", "urls")))


def _titles(value: Any) -> Iterator[str]:
    """HotpotQA's `supporting_facts`: (title, sentence) pairs, or `title` beside `sent_id`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _titles(value.get("title"))
    elif isinstance(value, list):
        for one in value:
            yield from _titles(one[0] if isinstance(one, list) and one else one)


def _distinct(texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.strip() for text in texts if text and text.strip()))
