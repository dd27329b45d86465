"""Chains of two and three pages along real links: the question names the first page and only describes the others.

A sentence of each page leads to the next by a link whose words are left out. The fact asked for is on the last page.
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
from webemu.rl.tasks.recipes.parsed_page import (
    TASKS_PER_PAGE,
    ParsedPage,
    eligible_pages,
    fill_question,
    is_sound,
    make_evidence,
    make_task,
    parse_page,
)
from webemu.rl.tasks.task import Evidence, Task
from webemu.rl.verify import normalise

FACT_FINDERS = (rows.find_key_values, rows.find_cells, cloze.find_quantities, cloze.find_rare_names)
"""Kinds of facts that are asked for on the last page."""
MAX_LINKS_FOLLOWED = 4
"""Largest number of links of a page that are followed."""
_LINK_START, _LINK_END = "\ue001", "\ue002"
_MARKED_LINK = re.compile(f"{_LINK_START}([^{_LINK_START}{_LINK_END}]*){_LINK_END}")
_MIN_WORDS_AROUND = 5
"""Smallest number of uncommon words in a sentence, without those of the link."""


@dataclass(frozen=True, slots=True)
class ChainStep:
    """A sentence whose link leads from one page to another."""

    sentence: str
    """The sentence, as the page has it."""
    link_text: str
    """Words of the link, which occur once in the sentence."""
    target: ParsedPage
    """The page that the link leads to."""

    def masked(self, number: int) -> str:
        """Return the sentence with a numbered placeholder for the words of the link."""
        return self.sentence.replace(self.link_text, f"[link {number}]").replace('"', "'")


def draw_steps(parsed: ParsedPage, rng: random.Random) -> Iterator[ChainStep]:
    """Yield steps from a page along a few randomly chosen links."""
    candidates = list(_find_links(parsed))
    for sentence, link_text, page in rng.sample(candidates, min(MAX_LINKS_FOLLOWED, len(candidates))):
        target = parse_page(parsed.crawl, page, parsed.recipe)
        if isinstance(target, str):
            parsed.skip(target)
        # Such a sentence would name the page that has to be found.
        elif _contains_name(target, sentence.replace(link_text, "")):
            parsed.skip("sentence names its target")
        else:
            yield ChainStep(sentence, link_text, target)


def _find_links(parsed: ParsedPage) -> Iterator[tuple[str, str, CrawlPage]]:
    """Yield (sentence, words of its only link, target page) for links within the crawl."""
    for marked_sentence, url in _find_marked_sentences(parsed):
        link_texts = _MARKED_LINK.findall(marked_sentence)
        link_text, sentence = (
            " ".join(link_texts[0].split()),
            " ".join(_MARKED_LINK.sub(r"\1", marked_sentence).split()),
        )
        page = parsed.crawl.find_page(url)
        if page is None or page.url == parsed.page.url:
            parsed.skip("leads out of the crawl")
        elif not prose.is_complete(sentence) or sentence.count(link_text) != 1 or parsed.text.count(sentence) != 1:
            parsed.skip("no sentence around the link")
        elif len(link_text) < 3 or prose.count_content_words(sentence.replace(link_text, "")) < _MIN_WORDS_AROUND:
            parsed.skip("little around the link")
        else:
            yield sentence, link_text, page


def _find_marked_sentences(parsed: ParsedPage) -> Iterator[tuple[str, str]]:
    """Yield (sentence, target URL) for sentences with exactly one link, whose words are marked."""
    tree = LexborHTMLParser(parsed.tree.html or "")
    url_by_node = {node.mem_id: target.partition("#")[0] for node, target in iter_links(tree, parsed.page.url)}
    for block in tree.css("p,li,dd"):
        if block.css_first("p p,li p,dd p,ul ul,li ul,li ol,dd ul,dd dl,pre,table,div") is not None:
            continue
        links = [node for node in block.css("a[href]") if node.mem_id in url_by_node]
        for node in links:
            # Text of a block has no links any more, so their ends are marked in the tree first.
            node.insert_before(_LINK_START)
            node.insert_after(_LINK_END)
        # The n-th mark in the text is the n-th link of the block.
        link_urls = iter([url_by_node[node.mem_id] for node in links])
        for sentence in prose.split_sentences(block.text()) if links else ():
            urls = [next(link_urls, "") for _ in range(sentence.count(_LINK_START))]
            if len(urls) == 1 and len(_MARKED_LINK.findall(sentence)) == 1:
                yield sentence, urls[0]


def _contains_name(parsed: ParsedPage, text: str) -> bool:
    """True if the text contains the page's name."""
    return gates.contains_phrase(normalise(text), normalise(parsed.short_title))


def _draw_chains(parsed: ParsedPage, length: int, rng: random.Random) -> Iterator[tuple[ChainStep, ...]]:
    """Yield chains of `length` steps from a page that visit no page twice."""
    for step in draw_steps(parsed, rng):
        if length == 1:
            yield (step,)
            continue
        for tail in _draw_chains(step.target, length - 1, rng):
            if parsed.page.url not in [one.target.page.url for one in tail]:
                yield (step, *tail)


def _generate_tasks(hops: int, sources: Sources, seed: int) -> Iterator[Task]:
    """Yield at most one task per first page, and at most `TASKS_PER_PAGE` per last page."""
    recipe_name = f"chain{hops}"
    tasks_by_last_page: Counter[str] = Counter()
    for parsed in eligible_pages(sources.crawl, recipe_name, seed):
        rng = random.Random(f"{seed}:{recipe_name}:{parsed.page.url}")
        for chain in _draw_chains(parsed, hops - 1, rng):
            # Many chains end on the same popular page.
            if tasks_by_last_page[chain[-1].target.page.url] >= TASKS_PER_PAGE:
                parsed.skip("many end there")
            elif (chain_task := _make_task(recipe_name, parsed, chain, rng)) is not None:
                tasks_by_last_page[chain_task.evidence[-1].url] += 1
                yield chain_task
                break


def _make_task(recipe_name: str, start: ParsedPage, chain: tuple[ChainStep, ...], rng: random.Random) -> Task | None:
    """Return a task about a fact of the chain's last page; None if no fact is sound."""
    end = chain[-1].target
    for fact in rng.sample(
        candidates := [fact for find_facts in FACT_FINDERS for fact in find_facts(end)], len(candidates)
    ):
        question = f"{_describe_way(start, chain)} {fill_question(fact, f'the page behind link {len(chain)}')}"
        if not is_sound(fact, end, question):
            continue
        if any(_contains_name(step.target, question) for step in chain):
            start.skip("question names a page of the chain")
        elif any(
            gates.contains_answer(page.page.text, answer)
            for page in [start, *(step_of_chain.target for step_of_chain in chain[:-1])]
            for answer in fact.answers
        ):
            start.skip("answer on an earlier page")
        else:
            return make_task(
                fact,
                question,
                recipe_name,
                (*_way_evidence(start, chain), *make_evidence(fact, end.page)),
                len(chain) + 1,
            )
    return None


def _describe_way(start: ParsedPage, chain: tuple[ChainStep, ...]) -> str:
    """Return the part of the question that quotes the sentence around each link, without the link's own words."""
    text = f'{start.name[0].upper()}{start.name[1:]} says: "{chain[0].masked(1)}"'
    for number, step in enumerate(chain[1:], 1):
        text += f' The page behind link {number} says: "{step.masked(number + 1)}"'
    return text


def _way_evidence(start: ParsedPage, chain: tuple[ChainStep, ...]) -> Iterator[Evidence]:
    """Yield the sentences of the steps as evidence."""
    pages = [start, *(step.target for step in chain)]
    for parsed, step in zip(pages, chain, strict=False):
        yield Evidence(parsed.page.url, step.sentence, step.link_text, parsed.page.digest)


CHAINS = tuple(
    Recipe(f"chain{hops}", "crawl", partial(_generate_tasks, hops), f"a fact {hops - 1} links away from a named page")
    for hops in (2, 3)
)
"""Recipes `chain2` and `chain3`."""
