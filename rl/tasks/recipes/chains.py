"""Chains of two and three pages through real links: a page is named, those behind it are only described.

A sentence of the first page leads on by a link whose words are left out; the fact asked for is of the last page.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from selectolax.lexbor import LexborHTMLParser

from webemu.index.views import iter_links
from webemu.rl import gates
from webemu.rl.tasks.crawl import CrawlPage
from webemu.rl.tasks.recipe import Recipe, Sources
from webemu.rl.tasks.recipes import cloze, prose, rows
from webemu.rl.tasks.recipes.parsed_page import PER_PAGE, Reading, asked, evidence, is_sound, read, readings, task
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.verify import normalise

FACTS = (rows.boxes, rows.cells, cloze.quantities, cloze.names)
"""What the last page may be asked for."""
TRIED = 4
"""Links of a page that are followed at most."""
_OPEN, _CLOSE = "\ue001", "\ue002"
_MARKED = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
_LEAST_AROUND = 5
"""Telling words of a sentence beside the link."""


@dataclass(frozen=True, slots=True)
class Step:
    """A sentence that leads from one page to another."""

    sentence: str
    words: str
    """Of the link."""
    target: Reading

    def masked(self, number: int) -> str:
        return self.sentence.replace(self.words, f"[link {number}]").replace('"', "'")


def steps(reading: Reading, dice: random.Random) -> Iterator[Step]:
    """Where some sentences of a page lead, in an order drawn."""
    found = list(_links(reading))
    for sentence, words, page in dice.sample(found, min(TRIED, len(found))):
        target = read(reading.crawl, page, reading.recipe)
        if isinstance(target, str):
            reading.drop(target)
        elif _names(target, sentence.replace(words, "")):
            reading.drop("sentence names its target")
        else:
            yield Step(sentence, words, target)


def _links(reading: Reading) -> Iterator[tuple[str, str, CrawlPage]]:
    """(sentence, words of its one link, where that leads)."""
    for part, url in _marked(reading):
        marks = _MARKED.findall(part)
        words, sentence = " ".join(marks[0].split()), " ".join(_MARKED.sub(r"\1", part).split())
        page = reading.crawl.page(url)
        if page is None or page.url == reading.page.url:
            reading.drop("leads out of the crawl")
        elif not prose.is_whole(sentence) or sentence.count(words) != 1 or reading.text.count(sentence) != 1:
            reading.drop("no sentence around the link")
        elif len(words) < 3 or prose.telling(sentence.replace(words, "")) < _LEAST_AROUND:
            reading.drop("little around the link")
        else:
            yield sentence, words, page


def _marked(reading: Reading) -> Iterator[tuple[str, str]]:
    """Sentences with one link, which is marked, and its address."""
    tree = LexborHTMLParser(reading.tree.html or "")
    found = {node.mem_id: target.partition("#")[0] for node, target in iter_links(tree, reading.page.url)}
    for block in tree.css("p,li,dd"):
        if block.css_first("p p,li p,dd p,ul ul,li ul,li ol,dd ul,dd dl,pre,table,div") is not None:
            continue
        links = [node for node in block.css("a[href]") if node.mem_id in found]
        for node in links:
            node.insert_before(_OPEN)
            node.insert_after(_CLOSE)
        places = iter([found[node.mem_id] for node in links])
        for part in prose.split(block.text()) if links else ():
            urls = [next(places, "") for _ in range(part.count(_OPEN))]
            if len(urls) == 1 and len(_MARKED.findall(part)) == 1:
                yield part, urls[0]


def _names(reading: Reading, text: str) -> bool:
    return gates.contains_phrase(normalise(text), normalise(reading.head))


def _chains(reading: Reading, length: int, dice: random.Random) -> Iterator[tuple[Step, ...]]:
    """Ways of so many links from a page, each page once."""
    for step in steps(reading, dice):
        if length == 1:
            yield (step,)
            continue
        for rest in _chains(step.target, length - 1, dice):
            if reading.page.url not in [one.target.page.url for one in rest]:
                yield (step, *rest)


def _make(hops: int, sources: Sources, seed: int) -> Iterator[Task]:
    name = f"chain{hops}"
    ends: Counter[str] = Counter()
    for reading in readings(sources.crawl, name, seed):
        dice = random.Random(f"{seed}:{name}:{reading.page.url}")
        for chain in _chains(reading, hops - 1, dice):
            if ends[chain[-1].target.page.url] >= PER_PAGE:
                reading.drop("many end there")
            elif (one := _task(name, reading, chain, dice)) is not None:
                ends[one.evidence[-1].url] += 1
                yield one
                break


def _task(name: str, start: Reading, chain: tuple[Step, ...], dice: random.Random) -> Task | None:
    end = chain[-1].target
    for fact in dice.sample(found := [fact for facts in FACTS for fact in facts(end)], len(found)):
        question = f"{_lead(start, chain)} {asked(fact, f'the page behind link {len(chain)}')}"
        if not is_sound(fact, end, question):
            continue
        if any(_names(step.target, question) for step in chain):
            start.drop("question names a page of the chain")
        elif any(
            gates.contains_answer(page.page.text, one)
            for page in [start, *(s.target for s in chain[:-1])]
            for one in fact.answers
        ):
            start.drop("answer on an earlier page")
        else:
            return task(fact, question, name, (*_way(start, chain), *evidence(fact, end.page)), len(chain) + 1)
    return None


def _lead(start: Reading, chain: tuple[Step, ...]) -> str:
    """The way in words: what is said around each link, whose own words are left out."""
    said = f'{start.name[0].upper()}{start.name[1:]} says: "{chain[0].masked(1)}"'
    for number, step in enumerate(chain[1:], 1):
        said += f' The page behind link {number} says: "{step.masked(number + 1)}"'
    return said


def _way(start: Reading, chain: tuple[Step, ...]) -> Iterator[Evidence]:
    pages = [start, *(step.target for step in chain)]
    for reading, step in zip(pages, chain, strict=False):
        yield Evidence(reading.page.url, step.sentence, step.words, reading.page.digest)


CHAINS = tuple(
    Recipe(f"chain{hops}", "crawl", partial(_make, hops), f"a fact {hops - 1} links away from a named page")
    for hops in (2, 3)
)
