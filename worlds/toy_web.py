"""Generate a web of a few words a page, for models that learn to read from nothing: names, three facts each, and
links.

A page is `Tam Vor` with lines like `key Sky` and `twin Mir Dor`, a link to a page of the other kind, which has other
facts. Names, two syllables, and facts are drawn anew for each seed, so nothing that a model remembers of one web holds
in another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random

from webemu.emulator.errors import SourceError
from webemu.worlds.crawl import list_fetches
from webemu.worlds.folder import TASKS_FILE, open_output_folder
from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.warcs import Progress, write_crawl
from webemu.worlds.web import Site, SitePage

NAME_SYLLABLES = tuple(
    "Bak Bam Bel Bil Bor Bud Dam Dat Del Dem Dip Dor Fam Fel Fer Fid Fir Fop Gam Gat Ger Gik Gol Gur Hal Hed"
    " Hem Hik Hod Hum Jar Jat Jek Jel Jip Jor Kak Kam Keg Kel Kir Kod Lam Lat Led Lim Lod Lur Mak Mel Mer Mir"
    " Mok Mum Nal Nek Nem Nil Nor Nup Pag Pal Pek Pel Pid Pol Ram Rek Rel Rir Rod Rus Sal Sar Sem Sig Sor Sul"
    " Tam Ted Tel Tir Tok Tor Vak Ved Vel Vir Vor Vuk Wam Wig Wor Zap Zel Zil Zog Zur".split()
)
"""Syllables of names. Facts have others, so that a search for a name finds its page before those that link to it."""
FACT_SYLLABLES = tuple(
    "Ash Bri Cop Dun Elk Fyn Gri Hux Ivo Jun Kip Lyn Mop Nix Oak Pim Qui Ros Sky Tun Urn Vim Wex Yap Zip Cru"
    " Fro Sti Twi Spo Arc Bly Cyg Dra Ebb Flo Gna Hyp Ilk Jynx Kru Lux Moa Nub Opal Pry Quo Ryn Shy Thi Ulm Vya"
    " Wye Xen Yew Zym Aft Blu Cha Dwi Eft Fug Gyr Ink".split()
)
"""Values of facts."""
FACT_LABELS = (("key", "seal", "mark"), ("hue", "rank", "crest"))
"""Labels of the facts of each of the two kinds. A page links to pages of the other kind only, so that it never says
what they say.
"""
LINK_LABELS = ("twin", "guard")
"""Labels of the links on every page."""
PAGES_PER_SITE = 20
MIN_PAGES = 2 * len(LINK_LABELS)
"""Smallest number of pages for which every page has different pages to link to."""
MAX_PAGES = len(NAME_SYLLABLES) * (len(NAME_SYLLABLES) - 1) // 2
"""Largest number of pages: the number of names in which no two have the same syllables."""


@dataclass(frozen=True, slots=True)
class ToyEntity:
    """An entity of the toy web, with a page of its own."""

    name: str
    url: str
    facts: tuple[tuple[str, str], ...]
    """Pairs of (label, value), one for each label of its kind."""
    links: tuple[int, ...]
    """Positions of the entities it links to, one for each of `LINK_LABELS`."""


def generate_toy(out: Path, seed: int, pages: int, progress: Progress | None = None) -> int:
    """Write a toy web and its tasks to the folder `out` and return the number of tasks.

        generate_toy(Path("toy"), seed=1, pages=200)

    Raises SourceError if `out` exists and is not a
    generated web, or if `pages` is not between `MIN_PAGES` and `MAX_PAGES`.
    """
    if not MIN_PAGES <= pages <= MAX_PAGES:
        raise SourceError(
            f"a toy web has {MIN_PAGES} to {MAX_PAGES} pages, not {pages}",
            action=f"choose --pages between {MIN_PAGES} and {MAX_PAGES}",
        )
    entities = draw_entities(seed, pages)
    fetches = [fetch for fetch in list_fetches(seed, _build_sites(entities)) if fetch.subset == "warc"]
    tasks = [json.dumps(task) + "\n" for task in _list_tasks(seed, entities)]
    with open_output_folder(out) as folder:
        write_crawl(folder, seed, fetches, progress)
        (folder / TASKS_FILE).write_text("".join(tasks), encoding="utf-8")
    return len(tasks)


def draw_entities(seed: int, count: int) -> list[ToyEntity]:
    """Return the entities for a seed.

    No two names have the same words, since a search ignores their order. No two facts of a page share a value, since a
    small model copies what stood behind a word.
    """
    rng = seeded_rng(seed, "toy")
    # Each pair of syllables makes one name, in one of its two orders.
    pairs = [pair if rng.random() < 0.5 else pair[::-1] for pair in combinations(NAME_SYLLABLES, 2)]
    names = [" ".join(pair) for pair in rng.sample(pairs, count)]
    # Entities alternate between the two kinds; links lead to the other kind.
    kinds = [range(first, count, 2) for first in (0, 1)]
    return [
        ToyEntity(
            name,
            f"https://toy{number // PAGES_PER_SITE}.example/{name.replace(' ', '-').lower()}",
            _draw_facts(rng, FACT_LABELS[number % 2]),
            tuple(rng.sample(kinds[1 - number % 2], len(LINK_LABELS))),
        )
        for number, name in enumerate(names)
    ]


def _draw_facts(rng: Random, labels: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple(zip(labels, rng.sample(FACT_SYLLABLES, len(labels)), strict=True))


def _build_sites(entities: Sequence[ToyEntity]) -> list[Site]:
    return [
        Site(f"toy{first // PAGES_PER_SITE}.example", f"Toy {first // PAGES_PER_SITE}", "toy", "",
             partial(_list_pages, entities, entities[first : first + PAGES_PER_SITE]))
        for first in range(0, len(entities), PAGES_PER_SITE)
    ]  # fmt: skip


def _list_pages(entities: Sequence[ToyEntity], site_entities: Sequence[ToyEntity], site: Site) -> Iterator[SitePage]:
    for entity in site_entities:
        yield SitePage(entity.url.removeprefix(site.base_url), partial(_render_page, entities, entity))


def _render_page(entities: Sequence[ToyEntity], entity: ToyEntity) -> str:
    facts = [f"<p>{label} {value}</p>" for label, value in entity.facts]
    link_targets = [(label, entities[target]) for label, target in zip(LINK_LABELS, entity.links, strict=True)]
    links = [f'<p>{label} <a href="{target.url}">{target.name}</a></p>' for label, target in link_targets]
    return f"<!doctype html><title>{entity.name}</title><main><h1>{entity.name}</h1>{''.join(facts + links)}</main>"


def _list_tasks(seed: int, entities: Sequence[ToyEntity]) -> Iterator[dict[str, object]]:
    """Yield three tasks for each entity: one of its facts, a fact of an entity it links to, and all its facts as a
    report.
    """
    for number, entity in enumerate(entities):
        rng = seeded_rng(seed, "toy", "task", number)
        label, value = rng.choice(entity.facts)
        link = rng.randrange(len(LINK_LABELS))
        linked = entities[entity.links[link]]
        linked_label, linked_value = rng.choice(linked.facts)
        yield _make_task(f"{label.title()} of {entity.name}", value, [(entity, label, value)], "fact")
        steps = [(entity, LINK_LABELS[link], linked.name), (linked, linked_label, linked_value)]
        yield _make_task(
            f"{linked_label.title()} of {LINK_LABELS[link].title()} of {entity.name}",
            linked_value,
            steps,
            "linked fact",
        )
        claims = [(entity, *fact) for fact in entity.facts]
        yield _make_task(f"Report on {entity.name}", claims[0][2], claims, "report") | {
            "answer_type": "report",
            "hops": 1,
        }


def _make_task(question: str, answer: str, steps: list[tuple[ToyEntity, str, str]], recipe: str) -> dict[str, object]:
    evidence = [{"url": entity.url, "quote": f"{label} {value}", "value": value} for entity, label, value in steps]
    name = question.replace(" ", "-").lower()
    return {
        "id": name, "question": question, "answers": [answer, evidence[-1]["quote"]], "evidence": evidence, "hops": len(steps),
        "recipe": recipe,
    }  # fmt: skip
