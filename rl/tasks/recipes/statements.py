"""Statements of pages about named things, in a form from which questions of any shape are made.

A statement is read by `clauses` (sentences), `labels` (keys and values, table rows) or `interfaces` (programming
manuals). `store` collects the statements of a crawl; recipes ask for one of them, or join several.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from webemu.rl.tasks.task import AnswerType, Evidence

SUBJECT = "\ue001"
"""Placeholder for the subject in a question. A private-use character, so that no page text contains it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A thing that a page tells about."""

    name: str
    """Its name, as a question may use it."""
    names: tuple[str, ...]
    """Accepted spellings, if the thing is the answer."""
    kind: str = "thing"
    """A noun for it: function, book, person."""
    description: str = ""
    """Words that follow the noun and identify the thing without its name; empty if the page has none."""
    quote: str = ""
    """The line that the description is taken from."""

    @property
    def product(self) -> str:
        """Name of the software that the thing belongs to: `SciPy`; empty if its kind is a single word."""
        return self.kind.rpartition(" ")[0]

    def described_in(self, text: str) -> str:
        """Return the thing without its name, and without its software if the text around it names that."""
        is_named = bool(self.product) and self.product in text
        return self.described.replace(f"the {self.product} ", "the ", 1) if is_named else self.described

    @property
    def described(self) -> str:
        """The thing without its name: `the SciPy function that computes ...`; empty if there is no description."""
        return f"the {self.kind} {self.description}" if self.description else ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact of a page with the questions that ask for it."""

    url: str
    digest: str
    host: str
    relation: str
    """Name of the kind of fact; values of one relation can be compared."""
    templates: tuple[str, ...]
    """Phrasings of the question, with `SUBJECT` in place of the subject if it has one."""
    answers: tuple[str, ...]
    """Accepted spellings."""
    answer_type: AnswerType
    quote: str
    """Consecutive words of the page's text that state it."""
    value: str
    """The part of the quote that is the answer."""
    subject: Subject | None = None
    """The thing in the slot of the templates; None if the templates have no slot."""
    answer_phrase: str = ""
    """Words that describe the answer without naming it ("the founder of X"), with `SUBJECT` for the subject; empty if
    there are none.
    """
    amount: Decimal | date | tuple[int, ...] | None = None
    """The value for comparisons: a number, a day or the parts of a version; None if it has no order."""
    topic: str = ""
    """Words for what came with the version in `amount`, with `SUBJECT`: `the parameter depth of ...`; else empty."""

    @property
    def evidence(self) -> Evidence:
        """The statement as evidence of a task."""
        return Evidence(self.url, self.quote, self.value, self.digest)


def subject_of(statement: Statement) -> Subject:
    """Return the subject of a statement that has one.

    Raises:
        ValueError: The statement has no subject; its recipe must not have drawn it.
    """
    if statement.subject is None:
        raise ValueError(f"the statement of {statement.url} has no subject")
    return statement.subject
