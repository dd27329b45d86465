"""A page as recipes read it: called by a name, in English, parsed once. And what it says, as a question."""

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
from webemu.rl.tasks.recipes import prose, titles
from webemu.rl.tasks.task import AnswerType, Evidence, Task
from webemu.rl.verify import normalise

PAGE = "\ue000"
"""Stands for the page in the words of a question."""
_MARKS = dict.fromkeys(range(0xE000, 0xE010))
"""What questions and recipes mark places with; a page may not."""
PER_PAGE = 2
"""Tasks of one recipe from one page, so that no page fills a task file."""
MOST_ALIKE = 2
"""Pages that may say a quote: what more say is boilerplate."""
_FEWEST_WORDS = 40
_UNSEEN = "script,style,noscript,template,svg,nav,footer,aside,form,[hidden],[role=navigation],sup.reference"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a page says."""

    ask: str
    """The question, with `DEFAULT_PAGE_BLOCKS` where the page is named."""
    answers: tuple[str, ...]
    kind: AnswerType
    quote: str
    """A run of the page's text."""
    value: str
    """What of it is needed."""
    more: tuple[tuple[str, str], ...] = ()
    """Further (quote, value), where the answer is computed from several."""
    computed: bool = False
    """The answer is not said by the page but follows from it."""


class Reading:
    """An open page. Parsed when it is asked for."""

    def __init__(self, crawl: Crawl, page: CrawlPage, head: str, recipe: str = "") -> None:
        self.crawl, self.page, self.head, self.recipe = crawl, page, head, recipe

    def drop(self, reason: str) -> None:
        """What is looked at and not asked is counted."""
        self.crawl.dropped[self.recipe, reason] += 1

    @property
    def name(self) -> str:
        return f'the page "{self.head}" on {self.page.host.removeprefix("www.")}'

    @cached_property
    def html(self) -> str:
        return limit_markup(self.crawl.html(self.page) or "")[0].translate(_MARKS)

    @cached_property
    def tree(self) -> LexborHTMLParser:
        """Its document without what is no content. Recipes may mark it, never take from it."""
        tree = LexborHTMLParser(self.html)
        for node in tree.css(_UNSEEN):
            node.decompose()
        return tree

    @cached_property
    def lines(self) -> list[str]:
        return [" ".join(line.split()) for line in self.page.text.split("\n")]

    @cached_property
    def text(self) -> str:
        """In one line."""
        return " ".join(self.page.text.split())

    def row(self, key: str, value: str) -> str:
        """The one line of a table with a cell for a key and one for its value; empty if there is none, or several."""
        found = self._rows.get(key, set()) & self._rows.get(value, set())
        return self.lines[found.pop()] if len(found) == 1 else ""

    @cached_property
    def _rows(self) -> dict[str, set[int]]:
        """Lines of tables by each of their cells, a colon at its end or not."""
        found: dict[str, set[int]] = {}
        for number, line in enumerate(self.lines):
            for cell in map(str.strip, line.split("|")) if "|" in line else ():
                for one in (cell, cell.rstrip(": ")):
                    found.setdefault(one, set()).add(number)
        return found

    def pair(self, term: str, said: str) -> str:
        """A term and what a list says of it, in lines of their own; empty if the text has them otherwise."""
        found = [f"{one}\n{said}" for one in (term, f"{term}:") if self.text.count(f" {one} {said}") == 1]
        return found[0] if found else ""

    @cached_property
    def sentences(self) -> list[str]:
        """That stand alone and are said once."""
        found = Counter(prose.sentences(self.page.text))
        return [sentence for sentence, count in found.items() if count == 1]


def read(crawl: Crawl, page: CrawlPage, recipe: str = "") -> Reading | str:
    """The page made ready, or why nothing is asked about it."""
    if page.language not in ("", "en") or not prose.is_english(page.text[:4000], 0.08):
        return "not English"
    if len(page.text.split()) < _FEWEST_WORDS:
        return "few words"
    names = _NAMES.setdefault(crawl, {})
    if page.host not in names:
        names[page.host] = _named(crawl, page.host)
    heads, alike = names[page.host]
    head = heads.get(page.title, "")
    if reason := titles.trouble(head, page.url):
        return reason
    return Reading(crawl, page, head, recipe) if alike[head.lower()] == 1 else "title shared by pages"


_NAMES: WeakKeyDictionary[Crawl, dict[str, tuple[dict[str, str], Counter[str]]]] = WeakKeyDictionary()
"""By host."""


def _named(crawl: Crawl, host: str) -> tuple[dict[str, str], Counter[str]]:
    """What each title of a host is called, and how many different texts are called so."""
    known = crawl.titles(host)
    heads, alike = titles.heads(known, host), Counter[str]()
    for title, count in known.items():
        alike[heads[title].lower()] += count
    return heads, alike


def trouble(fact: Fact, reading: Reading, question: str) -> str:
    """Why a fact makes no task; empty if it does."""
    asked = normalise(question)
    if any(gates.contains_phrase(asked, normalise(answer)) for answer in fact.answers):
        return "answer in question"
    if not all(gates.is_plain(answer) for answer in fact.answers):
        return "answer not plain"
    quotes = [(fact.quote, fact.value), *fact.more]
    if not all(" ".join(quote.split()) in reading.text for quote, _ in quotes):
        return "quote not in text"
    if not all(gates.contains_answer(quote, value) for quote, value in quotes):
        return "value not in quote"
    if not fact.computed and not any(gates.contains_answer(fact.quote, answer) for answer in fact.answers):
        return "answer not in quote"
    return "said by other pages" if len(reading.crawl.saying(fact.quote, MOST_ALIKE + 1)) > MOST_ALIKE else ""


def evidence(fact: Fact, page: CrawlPage) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(page.url, quote, value, page.digest) for quote, value in [(fact.quote, fact.value), *fact.more]
    )


def task(fact: Fact, question: str, recipe: str, stands: tuple[Evidence, ...], hops: int = 1) -> Task:
    return Task("", question, fact.answers, stands, hops, recipe, fact.kind)


Facts = Callable[[Reading], Iterable[Fact]]


def about_pages(name: str, facts: Facts, summary: str) -> Recipe:
    """A recipe of one hop: what single pages say."""

    def make(sources: Sources, seed: int) -> Iterator[Task]:
        for reading in readings(sources.crawl, name, seed):
            found = [
                (fact, question)
                for fact in facts(reading)
                if is_sound(fact, reading, question := asked(fact, reading.name))
            ]
            dice = random.Random(f"{seed}:{name}:{reading.page.url}")
            for fact, question in dice.sample(found, min(PER_PAGE, len(found))):
                yield task(fact, question, name, evidence(fact, reading.page))

    return Recipe(name, "crawl", make, summary)


def readings(crawl: Crawl, name: str, seed: int) -> Iterator[Reading]:
    """Pages that can be asked about, in this recipe's order."""
    for page in crawl.pages(f"{seed}:{name}"):
        reading = read(crawl, page, name)
        if isinstance(reading, Reading):
            yield reading
        else:
            crawl.dropped[name, reading] += 1


def asked(fact: Fact, page: str) -> str:
    question = fact.ask.replace(PAGE, page)
    return question[0].upper() + question[1:]


def is_sound(fact: Fact, reading: Reading, question: str) -> bool:
    """Whether a fact makes a task; what does not is counted."""
    if reason := trouble(fact, reading, question):
        reading.drop(reason)
    return not reason
