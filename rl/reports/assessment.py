"""Assessment of a report: each statement is no claim, or a claim that its cited pages support, refute or leave open."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from webemu.rl.reports import vocabulary as vocab
from webemu.rl.reports.citations import (
    MARK,
    MAX_PAGES_PER_CITATION,
    SourceEntry,
    ids_of,
    mark_citations,
    strip_marks,
)
from webemu.rl.reports.framing import (
    ATTRIBUTION,
    MAX_LABEL_WORDS,
    SOURCE_WORDS,
    WH_QUESTION,
    is_label,
    is_word_list,
    says_not_found,
)
from webemu.rl.reports.markdown_claims import MAX_STATEMENTS, Block, Statement, parse_blocks
from webemu.rl.reports.passages import PageText, denies_previous, has_verb, read_page, subject_of
from webemu.rl.reports.support import claim_of, is_predicate, judge_claim
from webemu.rl.reports.visible_text import strip_hidden
from webemu.rl.reports.words import Token, content, is_denial, keys_of, tokenize

MAX_SECTION_PAGES = 8
"""Pages that a heading is looked up in: those that its section cites."""
MAX_HEADER_WORDS = 3
MAX_ANSWER_WORDS = 8
_ACCESSED = re.compile(r"\(?\b(?:accessed|retrieved|visited|archived|last\s\w+)\b.{0,60}", re.IGNORECASE)
_GENERIC_HEADERS = frozenset(
    "detail details value values description event events information info fact facts property attribute item note"
    " notes name date year answer finding result".split()
)
_YES = re.compile(r"^\s*yes[,.;:!]\s+(?=\S+\s\S)", re.IGNORECASE)
_STOPS = " .!?;,"
_ABOVE = frozenset("above all none everything nothing whole entire".split())
_BELOW = frozenset("following below next myth myths misconceptions misconception false untrue wrong".split())
_TRUTH = frozenset("true correct accurate right real happened case so factual".split())
Status = Literal["none", "borne", "refuted", "open"]


@dataclass(frozen=True, slots=True)
class CitedPage:
    """Page that a report can cite."""

    label: str
    """Number or URL in the report."""
    url: str
    parts: tuple[str, ...]
    """Texts that it showed; none if it was not opened."""


@dataclass(frozen=True, slots=True)
class ReportInput:
    """Report with all that its assessment depends on."""

    text: str
    question: str
    citation_count: int
    pages: tuple[CitedPage, ...]


@dataclass(frozen=True, slots=True)
class AssessedStatement:
    """Statement of a report with its verdict."""

    text: str
    """Text without marks; a table row with its headers."""
    status: Status
    parts: tuple[str, ...] = ()
    """Texts of the pages that it cites."""
    section: str = ""
    is_heading: bool = False


@lru_cache(128)
def assess(report: ReportInput) -> tuple[AssessedStatement, ...]:
    """Return the statements of a report with their verdicts, those that are no claims included."""
    marked = mark_citations(strip_hidden(report.text), report.citation_count)
    blocks = parse_blocks(marked.text)
    if sum(len(block.statements) for block in blocks) > MAX_STATEMENTS:
        return (AssessedStatement(report.text[:200], "open"),)
    pages = {page.label: page for page in report.pages}
    reader = _Reader(report.question, pages)
    assessed = [reader.read(statement) for block in blocks for statement in block.statements]
    assessed = _apply_denials(assessed, blocks)
    return (*assessed, *(reader.read_entry(entry) for entry in marked.entries))


class _Reader:
    """Reader of the statements of one report in order; it remembers what pronouns stand for."""

    def __init__(self, question: str, pages: dict[str, CitedPage]) -> None:
        self._question, self._pages, self._open_question = keys_of(question), pages, ""
        self._subject, self._recent = frozenset[str](), list[frozenset[str]]()

    def read(self, statement: Statement) -> AssessedStatement:
        """Return a statement with its verdict."""
        text = " ".join(statement.plain.split())
        limit = MAX_SECTION_PAGES if statement.kind == "heading" else MAX_PAGES_PER_CITATION
        parts = tuple(part for page in self._cited(statement.ids, limit) for part in page.parts)
        status = "open" if statement.is_struck else self._status(statement, text)
        tokens = tokenize(text)
        self._open_question = text if text.rstrip().endswith("?") else ""
        subject = subject_of(tokens)
        self._subject = subject or self._subject
        self._recent = [*self._recent[-2:], frozenset(token.key for token in content(tokens))]
        described = " . ".join(statement.cells) if statement.kind == "row" else text
        return AssessedStatement(described, status, parts, statement.section, statement.kind == "heading")

    def read_entry(self, entry: SourceEntry) -> AssessedStatement:
        """Return the verdict on an entry of the list of sources. One that only names its page is no claim."""
        text = _ACCESSED.sub("", entry.text)
        page = self._pages.get(entry.url)
        page_texts = self._read_pages([page] if page else [])
        names = keys_of(re.sub(r"[\W_]+", " ", entry.url)) | self._question
        names |= frozenset(key for one in page_texts for key in one.keys)
        tokens = tokenize(text)
        is_name = all(token.key in names or token.text in vocab.FRAME_WORDS for token in content(tokens))
        if is_name and not has_verb(tokens):
            return AssessedStatement(text, "none")
        return AssessedStatement(text, judge_claim(claim_of(text, frozenset()), page_texts))

    def _status(self, statement: Statement, text: str) -> Status:
        if statement.kind == "heading":
            return self._heading_status(statement, text)
        if statement.kind == "row":
            return self._row_status(statement)
        if self._is_no_claim(text):
            return "none"
        if self._open_question and not has_verb(tokens := tokenize(text)) and len(content(tokens)) <= MAX_ANSWER_WORDS:
            question = re.sub(r"[?\W]+$", "", self._open_question)
            return self._claim_status(f"{question} : {re.sub(r'^yes[,.!]?', '', text, flags=re.I)}", statement.ids, "")
        if is_label(text) and self._heading_status(statement, text) == "none":
            return "none"
        if is_word_list(text):
            return "open"
        status = self._sentence_status(statement)
        if status != "borne" and (remainder := self._without_label(text, statement)) is not None:
            return self._sentence_status(replace(statement, text=remainder))
        return status

    def _is_no_claim(self, text: str) -> bool:
        """True for a sentence without facts: an opening, a closing, a question, a label."""
        tokens = tokenize(text)
        words_with_content = content(tokens)
        if says_not_found(text, tokens):
            return True
        if any(is_denial(token) for token in tokens) or denies_previous(text):
            return False
        if text.rstrip().endswith("?") and WH_QUESTION.match(text):
            names = frozenset(key for page in self._read_pages(self._pages.values()) for key in page.names)
            return not any(
                token.is_figure or (token.is_name and token.key not in self._question | names)
                for token in words_with_content
            )
        is_short_label = (
            text.rstrip(" *_").endswith((":", "."))
            and len(words_with_content) <= MAX_LABEL_WORDS
            and not has_verb(tokens)
        )
        words = vocab.TOPIC_WORDS if is_short_label else vocab.FRAME_WORDS | vocab.GENERIC_NOUNS
        return not any(token.is_figure or not self._is_framing(token, words) for token in words_with_content)

    def _is_framing(self, token: Token, words: frozenset[str]) -> bool:
        return token.text in words or token.key in self._question

    def _heading_status(self, statement: Statement, text: str) -> Status:
        """Return "none" for a heading that only names its topic or is true; else the verdict on what it claims."""
        tokens = tokenize(text.replace("|", ";"))
        words = content(tokens)
        is_topic = not any(token.is_figure or not self._is_framing(token, vocab.TOPIC_WORDS) for token in words)
        if any(map(is_denial, tokens)):
            return "open"
        if len(words) == 1 and not words[0].is_figure and not has_verb(tokens):
            return "none"
        if (is_topic and (not has_verb(tokens) or len(words) <= 3)) or self._is_no_claim(text):
            return "none"
        if "|" in text:
            return "none" if self._are_columns(text) or self._are_names(tokens, statement.ids) else "open"
        if self._is_topic_with_words(tokens, words):
            return "none"
        status = self._claim_status(text, statement.ids, statement.section, MAX_SECTION_PAGES)
        if status != "borne" and not has_verb(tokens) and self._are_names(tokens, statement.ids) and len(words) <= 3:
            return "none"
        return "none" if status == "borne" else status

    def _are_columns(self, text: str) -> bool:
        """True if the headers of a table are short and say nothing: no verb, figure or name."""
        headers = [tokenize(one) for one in text.split("|")]
        page_keys = frozenset(key for page in self._read_pages(self._pages.values()) for key in page.keys)
        return all(
            len(content(header)) <= MAX_HEADER_WORDS
            and not any(token.is_figure for token in header)
            and (not has_verb(header) or all(token.key in page_keys for token in content(header)))
            for header in headers
        )

    def _is_topic_with_words(self, tokens: Sequence[Token], words: Sequence[Token]) -> bool:
        """True for "Executive summary" and the like: short, without a verb, half of its words those of topics."""
        if not 0 < len(words) <= MAX_LABEL_WORDS or has_verb(tokens) or any(token.is_figure for token in words):
            return False
        page_keys = frozenset(key for page in self._read_pages(self._pages.values()) for key in page.keys)
        topical = [self._is_framing(token, vocab.TOPIC_WORDS) or token.key in page_keys for token in words]
        names_known = all(
            ok for token, ok in zip(words, topical, strict=True) if token.is_name and token is not words[0]
        )
        return 2 * sum(topical) >= len(words) and names_known

    def _are_names(self, tokens: Sequence[Token], ids: Iterable[str]) -> bool:
        """True if all words of a heading stand in the pages of its section, and none is a verb."""
        keys = frozenset(key for page in self._read_pages(self._cited(ids, MAX_SECTION_PAGES)) for key in page.keys)
        return not has_verb(tokens) and all(
            token.key in keys or self._is_framing(token, vocab.TOPIC_WORDS) for token in content(tokens)
        )

    def _row_status(self, statement: Statement) -> Status:
        """Return the verdict on a table row: the worst of its cells."""
        statuses = [self._cell_status(cell, statement) for cell in statement.cells]
        if not statuses or all(status == "none" for status in statuses):
            return "none"
        return next((one for one in ("refuted", "open") if one in statuses), "borne")

    def _cell_status(self, cell: str, statement: Statement) -> Status:
        first, _, fact = cell.partition(" ; ")
        header, _, value = fact.partition(" : ")
        tokens = tokenize(value or first)
        if all(token.text in vocab.FUNCTION_WORDS or token.kind == "stop" for token in tokens) or (
            len(tokens) <= 2 and any(map(is_denial, tokens))
        ):
            is_no = any(token.text in vocab.NEGATIONS or is_denial(token) for token in tokens)
            return "open" if is_no or content(tokenize(first)) else "none"
        generic = all(token.text in _GENERIC_HEADERS for token in content(tokenize(header)))
        names = frozenset(key for page in self._read_pages(self._pages.values()) for key in page.title & page.names)
        is_named = any(token.key in names and token.text not in vocab.TOPIC_WORDS for token in tokenize(header))
        column = f"of {header} is" if is_named else header.lower()
        if (
            keys_of(first)
            & self._question
            & frozenset(key for page in self._read_pages(self._pages.values()) for key in page.names)
        ):
            first = f"the {first}"  # A word behind another is a name if it is capitalised.
        text = f"{first} : {value}" if generic else f"{first} {column} {value}"
        return self._claim_status(text if value else first, statement.ids, statement.section)

    def _without_label(self, text: str, statement: Statement) -> str | None:
        """Return a sentence without its label, if the label only names a topic and the rest says something."""
        colon = ":" if ":" in text else " – "
        label = text.partition(colon)[0] if colon in text else ""
        words = content(tokenize(label))
        remainder = statement.text.partition(colon)[2]
        tokens = tokenize(strip_marks(remainder))
        says_something = any(is_predicate(tokens, position) for position in range(len(tokens)))
        remainder_keys = {token.key for token in tokens}
        is_topic = all(
            not token.is_figure and (self._is_framing(token, vocab.TOPIC_WORDS) or token.key in remainder_keys)
            for token in words
        ) or (len(words) == 1 and not words[0].is_figure and not words[0].text.endswith(("er", "or", "ist", "ed")))
        return remainder if label and says_something and is_topic and len(words) <= MAX_LABEL_WORDS else None

    def _sentence_status(self, statement: Statement) -> Status:
        """Return the verdict on a sentence: each part on the pages cited behind it, or all of it on all of them."""
        parts = list(_complete(list(_split_by_marks(statement))))
        if len({ids for _, ids in parts}) > 1:
            statuses = [self._claim_status(text, ids, statement.section) for text, ids in parts]
            if all(status == "borne" for status in statuses):
                return "borne"
            if "refuted" in statuses:
                return "refuted"
            if all(_says_something(text) for text, _ in parts):
                return "open"
        return self._claim_status(strip_marks(statement.text), statement.ids, statement.section)

    def _claim_status(
        self, text: str, ids: Iterable[str], section: str, max_pages: int = MAX_PAGES_PER_CITATION
    ) -> Status:
        cited = self._cited(ids, max_pages)
        page_texts = self._read_pages(cited)
        if not page_texts:
            return "open"
        text = _YES.sub("", self._strip_attribution(text, cited))
        antecedents = frozenset(key for keys in self._recent for key in keys) | self._question | self._subject
        claim = claim_of(text, antecedents, self._section_names(section, page_texts))
        return judge_claim(claim, page_texts)

    def _strip_attribution(self, text: str, cited: Sequence[CitedPage]) -> str:
        """Return a text without "According to the museum," or "The page says that" if these words name the source."""
        match = ATTRIBUTION.match(text)
        if not match:
            return text
        urls = " ".join(page.url for page in cited)
        names = keys_of(re.sub(r"[\W_]+", " ", urls)) | frozenset(
            key for page in self._read_pages(cited) for key in page.title | page.names
        )
        words = content(tokenize(match[1] or match[2]))
        is_source = all(token.key in names or self._is_framing(token, SOURCE_WORDS) for token in words)
        return text[match.end() :] if is_source else text

    def _section_names(self, section: str, page_texts: Sequence[PageText]) -> frozenset[str]:
        """Return the names in a heading that the claims below it must be about."""
        words = [token for token in content(tokenize(section)) if token.text not in vocab.TOPIC_WORDS - {"tower"}]
        if len(words) > 3 or any(token.is_figure for token in words) or has_verb(tokenize(section)):
            return frozenset()
        names = frozenset(key for page in page_texts for key in page.names)
        title = frozenset(key for page in page_texts for key in page.title)
        keys = frozenset(token.key for token in words if token.key in names or (token.is_name and token.key in title))
        # "The siege and the treaty" is a heading of several things, of which each claim is about one.
        return frozenset() if re.search(r"\band\b|[,&/]", section) else keys

    def _cited(self, ids: Iterable[str], limit: int) -> list[CitedPage]:
        """Return the cited pages; none if too many are cited at one place."""
        labels = list(dict.fromkeys(ids))
        page_by_url = {page.url: page for one in labels if (page := self._pages.get(one)) is not None}
        return list(page_by_url.values()) if len(labels) <= limit else []

    def _read_pages(self, pages: Iterable[CitedPage]) -> list[PageText]:
        return [read_page(page.url, page.parts) for page in pages if page.parts]


def _says_something(text: str) -> bool:
    tokens = tokenize(text)
    return any(is_predicate(tokens, position) for position in range(len(tokens)))


def _split_by_marks(statement: Statement) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the text before each group of marks with its sources. Text behind the last group belongs to that group."""
    groups = list(re.finditer(rf"{MARK.pattern}(?:\s*{MARK.pattern})*", statement.text))
    start = 0
    for number, group in enumerate(groups):
        text = statement.text[start : group.start()]
        if number == len(groups) - 1:
            text += statement.text[group.end() :]
        start = group.end()
        if content(tokenize(text)):
            yield text, tuple(ids_of(group[0]))
    if not groups:
        yield statement.text, statement.ids


def _complete(parts: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the parts of a sentence; one that leaves out what it counts has it from the part before."""
    nouns = ""
    for text, ids in parts:
        tokens = tokenize(text)
        words = [token.text for n, token in enumerate(tokens) if is_predicate(tokens, n)]
        yield (text if words or not any(token.is_figure for token in tokens) else f"{text.rstrip(_STOPS)} {nouns}"), ids
        nouns = " ".join(token.text for n, token in enumerate(tokens) if n and tokens[n - 1].is_figure)


def _apply_denials(assessed: list[AssessedStatement], blocks: Sequence[Block]) -> list[AssessedStatement]:
    """Return the statements with those refuted that another statement of the report calls false."""
    result, position = list(assessed), 0
    for number, block in enumerate(blocks):
        for statement in block.statements:
            denied = _denied_range(statement, position, number, blocks)
            result[denied.start : denied.stop] = [
                replace(one, status="refuted") for one in result[denied.start : denied.stop]
            ]
            position += 1
    return result


def _denied_range(statement: Statement, position: int, number: int, blocks: Sequence[Block]) -> range:
    """Return the positions of the statements that a statement calls false; its own is not among them."""
    tokens = tokenize(statement.plain)
    words = {token.text for token in tokens}
    says_false = any(map(is_denial, tokens)) or bool(words & {"myths", "misconceptions", "lies", "errors", "rumours"})
    says_false = says_false or any(token.is_negated and token.text in _TRUTH for token in tokens)
    says_false = says_false or (("nothing" in words or "none" in words) and bool(words & _TRUTH))
    if not says_false or any(token.is_figure for token in tokens) or len(content(tokens)) > 7:
        return range(0)
    if denies_previous(statement.plain) and not words & _ABOVE:
        return range(max(0, position - 1), position)
    if words & _ABOVE and words & (_TRUTH | vocab.DENIALS):
        return range(position)
    if statement.kind == "heading" or blocks[number].is_lead or words & _BELOW:
        return range(position + 1, position + 1 + _count_below(number, blocks, statement))
    return range(0)


def _count_below(number: int, blocks: Sequence[Block], statement: Statement) -> int:
    """Return how many statements follow until the next heading of the same level."""
    opener = blocks[number]
    count = len(opener.statements) - 1 - opener.statements.index(statement)
    for block in blocks[number + 1 :]:
        if block.kind == "heading" and (opener.kind != "heading" or block.level <= opener.level):
            break
        count += len(block.statements)
    return count
