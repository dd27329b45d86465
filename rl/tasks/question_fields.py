"""Parser for question sets of other projects: finds question, answers and gold pages under the field names in use.
Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

QUESTION_FIELDS = ("question", "query", "problem", "prompt", "q", "input", "question_text", "claim")
"""Usual names of the field with the question, most specific first."""
ANSWER_FIELDS = (
    "answers", "answer", "golden_answers", "gold_answers", "gold", "gold_answer", "ground_truth", "target",
    "expected_answer", "expected_answers", "expected", "possible_answers", "answer_aliases", "aliases", "output", "a",
)  # fmt: skip
"""Usual names of the field with the accepted answers."""
URL_FIELDS = (
    "urls", "url", "gold_urls", "gold_url", "evidence_urls", "evidence", "evidences", "supporting_urls", "source_urls",
    "sources", "source_url", "gold_docs", "supporting_documents", "references", "citations", "wiki_url",
)  # fmt: skip
"""Usual names of the field with the URLs of gold pages."""
TITLE_FIELDS = (
    "supporting_facts",
    "gold_titles",
    "titles",
    "evidence_titles",
    "supporting_titles",
    "wikipedia_title",
    "s_wiki_title",
)
"""Usual names of the field with the titles of gold pages."""
ID_FIELDS = ("id", "_id", "qid", "question_id", "query_id", "uid")
"""Usual names of the field with the question's id."""


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Field names that the user chose. An empty one means: look for the usual names."""

    question: str = ""
    answers: str = ""
    urls: str = ""
    titles: str = ""


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """A question of the user's own, in one form whatever the file's format."""

    id: str
    """The row's own id, or else its number in the file."""
    question: str
    answers: tuple[str, ...]
    urls: tuple[str, ...]
    """URLs of gold pages."""
    titles: tuple[str, ...]
    """Gold pages that are known by title alone."""


def parse_question_row(row: Mapping[str, object], number: int, names: FieldNames) -> UserQuestion:
    """Return the question of one row of the file. Raises ValueError if the row has no question."""
    question = first_field(row, (names.question,) if names.question else QUESTION_FIELDS)
    if not isinstance(question, str) or not question.strip():
        raise ValueError(f"no question in the fields {', '.join(map(str, row))}")
    answer_value = first_field(row, (names.answers,) if names.answers else ANSWER_FIELDS)
    url_value = first_field(row, (names.urls,) if names.urls else URL_FIELDS)
    title_value = first_field(row, (names.titles,) if names.titles else TITLE_FIELDS)
    return UserQuestion(
        str(next((row[name] for name in ID_FIELDS if name in row), number)),
        question.strip(),
        _unique_texts(_find_answers(answer_value)),
        _unique_texts(url for url in _find_urls(url_value)),
        _unique_texts(_find_titles(title_value)),
    )


def first_field(row: Mapping[str, object], names: Sequence[str]) -> object:
    """Return the value of the first of these fields that is present and not empty, ignoring case; None if there is
    none.
    """
    # The order of `names` decides, not that of the row.
    folded = {str(name).casefold(): value for name, value in row.items()}
    return next((value for name in names if (value := folded.get(name.casefold())) not in (None, "", [], {})), None)


def _find_answers(value: object) -> Iterator[str]:
    """Yield the answers in a value: a text, a number, a list, TriviaQA's `value` with `aliases`, SQuAD's `text`, or a
    JSON list written as text. A boolean becomes "yes" or "no".
    """
    # CSV files hold lists as text.
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError):
            value = json.loads(value)
    # A boolean is an int, too, hence this test first.
    if isinstance(value, bool):
        yield "yes" if value else "no"
    elif isinstance(value, str | int | float):
        yield str(value)
    elif isinstance(value, list):
        for element in value:
            yield from _find_answers(element)
    elif isinstance(value, dict):
        for name in ("value", "text", "answer", "target", "aliases", "normalized_aliases"):
            yield from _find_answers(value.get(name))


def _find_urls(value: object) -> Iterator[str]:
    """Yield the URLs in a text, a list, or an object with a URL field."""
    if isinstance(value, str):
        yield from (part for part in value.split() if part.startswith(("http://", "https://")))
    elif isinstance(value, list):
        for element in value:
            yield from _find_urls(element)
    elif isinstance(value, dict):
        yield from _find_urls(first_field(value, ("url", "link", "href", "source", "urls")))


def _find_titles(value: object) -> Iterator[str]:
    """Yield the titles in HotpotQA's `supporting_facts`: (title, sentence) pairs, or `title` next to `sent_id`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _find_titles(value.get("title"))
    elif isinstance(value, list):
        for element in value:
            yield from _find_titles(element[0] if isinstance(element, list) and element else element)


def _unique_texts(texts: Iterator[str]) -> tuple[str, ...]:
    """Return the texts without outer white space, each once; empty ones are left out."""
    return tuple(dict.fromkeys(text.strip() for text in texts if text and text.strip()))
