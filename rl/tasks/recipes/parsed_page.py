"""Pages prepared for recipes (named, in English, parsed once), and the checks that turn their facts into tasks."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from selectolax.lexbor import LexborHTMLParser

from webemu.index.markup import limit_markup
from webemu.rl import gates
from webemu.rl.tasks.crawl import Crawl, CrawlPage
from webemu.rl.tasks.recipe import Recipe, Sources
from webemu.rl.tasks.recipes import gold, prose, titles
from webemu.rl.tasks.task import AnswerType, Evidence, Task
from webemu.rl.verify import normalise

PAGE = "\ue000"
"""Placeholder for the page's name in a question. A private-use character, so that no page text contains it."""
_PRIVATE_USE = dict.fromkeys(range(0xE000, 0xE010))
"""Private-use characters that recipes use as marks. They are removed from pages."""
TASKS_PER_PAGE = 2
"""Largest number of tasks of one recipe from one page, so that no page fills a task file."""
MAX_PAGES_WITH_QUOTE = 2
"""Largest number of pages that may contain a quote; on more pages it is boilerplate."""
_MIN_WORDS = 40
"""Smallest number of words of a page."""
_NO_CONTENT = "script,style,noscript,template,svg,nav,footer,aside,form,[hidden],[role=navigation],sup.reference"
"""CSS selector of elements that are not content."""


@dataclass(frozen=True, slots=True)
class PageFact:
    """A statement of a page, with the question that asks for it."""

    question_template: str
    """The question, with `DEFAULT_PAGE_BLOCKS` in place of the page's name."""
    answers: tuple[str, ...]
    """Accepted spellings."""
    answer_type: AnswerType
    """Form of the answer."""
    quote: str
    """Consecutive words of the page's text."""
    value: str
    """The part of the quote that is needed."""
    further_quotes: tuple[tuple[str, str], ...] = ()
    """Further (quote, value) pairs, if the answer is computed from several."""
    is_computed: bool = False
    """True if the page does not state the answer but it follows from the page."""


class ParsedPage:
    """A page with its name and, once they are needed, its document and sentences."""

    def __init__(self, crawl: Crawl, page: CrawlPage, short_title: str, recipe: str = "") -> None:
        self.crawl, self.page, self.short_title, self.recipe = crawl, page, short_title, recipe

    def skip(self, reason: str) -> None:
        """Count a part of the page that became no task, under this reason."""
        self.crawl.skip_counts[self.recipe, reason] += 1

    @property
    def name(self) -> str:
        """The page as a question calls it: by title and host."""
        return f'the page "{self.short_title}" on {self.page.host.removeprefix("www.")}'

    @cached_property
    def html(self) -> str:
        """The document, limited in size and depth, without private-use characters."""
        return limit_markup(self.crawl.read_html(self.page) or "")[0].translate(_PRIVATE_USE)

    @cached_property
    def tree(self) -> LexborHTMLParser:
        """The parsed document without elements that are not content. Recipes may add marks, but must remove nothing."""
        tree = LexborHTMLParser(self.html)
        for node in tree.css(_NO_CONTENT):
            node.decompose()
        return tree

    @cached_property
    def lines(self) -> list[str]:
        """Lines of the page's text, with single spaces."""
        return [" ".join(line.split()) for line in self.page.text.split("\n")]

    @cached_property
    def text(self) -> str:
        """The page's text on one line."""
        return " ".join(self.page.text.split())

    def find_row(self, key: str, value: str) -> str:
        """Return the only table line that has a cell with the key and one with the value; empty if there is none, or
        several.
        """
        # Rows are identified by two cells, because the text view has no other structure.
        line_numbers = self._lines_by_cell.get(key, set()) & self._lines_by_cell.get(value, set())
        return self.lines[line_numbers.pop()] if len(line_numbers) == 1 else ""

    @cached_property
    def _lines_by_cell(self) -> dict[str, set[int]]:
        """Numbers of the table lines, by the text of each cell with and without a final colon."""
        lines_by_cell: dict[str, set[int]] = {}
        for number, line in enumerate(self.lines):
            for cell in map(str.strip, line.split("|")) if "|" in line else ():
                for cell_text in (cell, cell.rstrip(": ")):
                    lines_by_cell.setdefault(cell_text, set()).add(number)
        return lines_by_cell

    def find_pair(self, term: str, description: str) -> str:
        """Return a term and its description on two lines; empty unless the text has them once, one after the other."""
        matches = [
            f"{term_text}\n{description}"
            for term_text in (term, f"{term}:")
            if self.text.count(f" {term_text} {description}") == 1
        ]
        return matches[0] if matches else ""

    @cached_property
    def sentences(self) -> list[str]:
        """Sentences that make sense alone and occur once."""
        counts = Counter(prose.find_sentences(self.page.text))
        return [sentence for sentence, count in counts.items() if count == 1]


def parse_page(crawl: Crawl, page: CrawlPage, recipe: str = "", needs_name: bool = True) -> ParsedPage | str:
    """Return the page prepared for a recipe, or the reason why no question about it is possible.

    Without `needs_name`, a page whose title is generic or shared has an empty name.
    """
    if page.language not in ("", "en") or not prose.is_english(page.text[:4000], 0.08):
        return "not English"
    if len(page.text.split()) < _MIN_WORDS:
        return "few words"
    # Names depend on all titles of the host, so they are computed once per host.
    names_by_host = _NAMES_BY_HOST.setdefault(crawl, {})
    if page.host not in names_by_host:
        names_by_host[page.host] = _name_pages(crawl, page.host)
    names_by_title, text_counts = names_by_host[page.host]
    short_title = names_by_title.get(page.title, "")
    reason = titles.rejection_reason(short_title, page.url)
    if not reason and text_counts[short_title.lower()] != 1:
        reason = "title shared by pages"
    if reason and (needs_name or reason == titles.LEGAL):
        return reason
    return ParsedPage(crawl, page, "" if reason else short_title, recipe)


_NAMES_BY_HOST: WeakKeyDictionary[Crawl, dict[str, tuple[dict[str, str], Counter[str]]]] = WeakKeyDictionary()
"""Names of pages and how many texts share them, by crawl and host. A cache: entries go with their crawl."""


def _name_pages(crawl: Crawl, host: str) -> tuple[dict[str, str], Counter[str]]:
    """Return the name of each title of a host, and the number of different texts with each name in lower case."""
    title_counts = crawl.count_titles(host)
    names_by_title, text_counts = titles.shorten_titles(title_counts, host), Counter[str]()
    for title, count in title_counts.items():
        text_counts[names_by_title[title].lower()] += count
    return names_by_title, text_counts


def rejection_reason(fact: PageFact, parsed: ParsedPage, question: str) -> str:
    """Return why a fact makes no task; empty if it does."""
    question_text = normalise(question)
    if any(gates.contains_phrase(question_text, normalise(answer)) for answer in fact.answers):
        return "answer in question"
    if fact.answer_type == "name" and (reason := gold.rejection_reason(fact.answers[0])):
        return reason
    if not all(gates.is_plain(answer) for answer in fact.answers):
        return "answer not plain"
    quotes = [(fact.quote, fact.value), *fact.further_quotes]
    if not all(" ".join(quote.split()) in parsed.text for quote, _ in quotes):
        return "quote not in text"
    if not all(gates.contains_answer(quote, value) for quote, value in quotes):
        return "value not in quote"
    if not fact.is_computed and not any(gates.contains_answer(fact.quote, answer) for answer in fact.answers):
        return "answer not in quote"
    # Last, because it is a search; all checks before it compare strings.
    return (
        "said by other pages"
        if len(parsed.crawl.find_phrase(fact.quote, MAX_PAGES_WITH_QUOTE + 1)) > MAX_PAGES_WITH_QUOTE
        else ""
    )


def make_evidence(fact: PageFact, page: CrawlPage) -> tuple[Evidence, ...]:
    """Return the quotes of a fact as evidence."""
    return tuple(
        Evidence(page.url, quote, value, page.digest)
        for quote, value in [(fact.quote, fact.value), *fact.further_quotes]
    )


def make_task(fact: PageFact, question: str, recipe: str, evidence_pieces: tuple[Evidence, ...], hops: int = 1) -> Task:
    """Return the task of a fact, without an id."""
    return Task("", question, fact.answers, evidence_pieces, hops, recipe, fact.answer_type)


FactFinder = Callable[[ParsedPage], Iterable[PageFact]]
"""Yields the facts of a page."""


def make_page_recipe(name: str, find_facts: FactFinder, summary: str) -> Recipe:
    """Return a recipe of one hop, which asks for facts of single pages."""

    def generate_tasks(sources: Sources, seed: int) -> Iterator[Task]:
        for parsed in eligible_pages(sources.crawl, name, seed):
            candidates = [
                (fact, question)
                for fact in find_facts(parsed)
                if is_sound(fact, parsed, question := fill_question(fact, parsed.name))
            ]
            rng = random.Random(f"{seed}:{name}:{parsed.page.url}")
            for fact, question in rng.sample(candidates, min(TASKS_PER_PAGE, len(candidates))):
                yield make_task(fact, question, name, make_evidence(fact, parsed.page))

    return Recipe(name, "crawl", generate_tasks, summary)


def eligible_pages(crawl: Crawl, name: str, seed: int, needs_name: bool = True) -> Iterator[ParsedPage]:
    """Yield the pages that can be asked about, in the order of this recipe. The reasons for skipping the others are
    counted.
    """
    for page in crawl.iterate_pages(f"{seed}:{name}"):
        parsed = parse_page(crawl, page, name, needs_name)
        if isinstance(parsed, ParsedPage):
            yield parsed
        else:
            crawl.skip_counts[name, parsed] += 1


def fill_question(fact: PageFact, page: str) -> str:
    """Return the question of a fact about a page with this name."""
    question = fact.question_template.replace(PAGE, page)
    # The name of the page may come first, and it begins in lower case.
    return question[0].upper() + question[1:]


def is_sound(fact: PageFact, parsed: ParsedPage, question: str) -> bool:
    """True if a fact makes a task. If not, the reason is counted."""
    if reason := rejection_reason(fact, parsed, question):
        parsed.skip(reason)
    return not reason
