"""Generate a web of a few words a page, for models that learn to read from nothing: names, three facts each, and
links.

A page is `Tam Vor` with lines like `key Sky` and `twin Mir Dor`, a link to a page of the other kind, which has other
facts. Names, two syllables, and facts are drawn anew for each seed, so nothing that a model remembers of one web holds
in another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random

from webemu.emulator.errors import SourceError
from webemu.worlds.crawl import visits
from webemu.worlds.folder import TASKS, writing
from webemu.worlds.seeded_random import dice
from webemu.worlds.warcs import write_crawl
from webemu.worlds.web import Leaf, Site

SYLLABLES = tuple(
    "Bak Bam Bel Bil Bor Bud Dam Dat Del Dem Dip Dor Fam Fel Fer Fid Fir Fop Gam Gat Ger Gik Gol Gur Hal Hed"
    " Hem Hik Hod Hum Jar Jat Jek Jel Jip Jor Kak Kam Keg Kel Kir Kod Lam Lat Led Lim Lod Lur Mak Mel Mer Mir"
    " Mok Mum Nal Nek Nem Nil Nor Nup Pag Pal Pek Pel Pid Pol Ram Rek Rel Rir Rod Rus Sal Sar Sem Sig Sor Sul"
    " Tam Ted Tel Tir Tok Tor Vak Ved Vel Vir Vor Vuk Wam Wig Wor Zap Zel Zil Zog Zur".split()
)
"""Syllables of names. Facts have others, so that a search for a name finds its page before those that link to it."""
OTHERS = tuple(
    "Ash Bri Cop Dun Elk Fyn Gri Hux Ivo Jun Kip Lyn Mop Nix Oak Pim Qui Ros Sky Tun Urn Vim Wex Yap Zip Cru"
    " Fro Sti Twi Spo Arc Bly Cyg Dra Ebb Flo Gna Hyp Ilk Jynx Kru Lux Moa Nub Opal Pry Quo Ryn Shy Thi Ulm Vya"
    " Wye Xen Yew Zym Aft Blu Cha Dwi Eft Fug Gyr Ink".split()
)
"""Values of facts."""
FACTS = (("key", "seal", "mark"), ("hue", "rank", "crest"))
"""Labels of the facts of each of the two kinds. A page links to pages of the other kind only, so that it never says
what they say.
"""
LINKS = ("twin", "guard")
"""Labels of the links on every page."""
PER_SITE = 20
FEWEST = 2 * len(LINKS)
"""Smallest number of pages for which every page has different pages to link to."""
MOST = len(SYLLABLES) * (len(SYLLABLES) - 1) // 2
"""Largest number of pages: the number of names in which no two have the same syllables."""


@dataclass(frozen=True, slots=True)
class Being:
    """An entity of the toy web, with a page of its own."""

    name: str
    url: str
    facts: tuple[tuple[str, str], ...]
    """Pairs of (label, value), one for each label of its kind."""
    links: tuple[int, ...]
    """Positions of the entities it links to, one for each of `LINK_LABELS`."""


def generate_toy(out: Path, seed: int, pages: int, progress: Callable[[int, int], None] | None = None) -> int:
    """Write a toy web and its tasks to the folder `out` and return the number of tasks.

        generate_toy(Path("toy"), seed=1, pages=200)

    `progress` is called with (captures written, all captures). Raises SourceError if `out` exists and is not a
    generated web, or if `pages` is not between `MIN_PAGES` and `MAX_PAGES`.
    """
    if not FEWEST <= pages <= MOST:
        raise SourceError(
            f"a toy web has {FEWEST} to {MOST} pages, not {pages}", action=f"choose --pages between {FEWEST} and {MOST}"
        )
    beings = draw(seed, pages)
    crawl = [visit for visit in visits(seed, _sites(beings)) if visit.subset == "warc"]
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        if progress:
            progress(done, len(crawl))

    tasks = [json.dumps(task) + "\n" for task in _tasks(seed, beings)]
    with writing(out) as folder:
        write_crawl(folder, seed, crawl, tick)
        (folder / TASKS).write_text("".join(tasks), encoding="utf-8")
    return len(tasks)


def draw(seed: int, count: int) -> list[Being]:
    """Return the entities for a seed.

    No two names have the same words, since a search ignores their order. No two facts of a page share a value, since a
    small model copies what stood behind a word.
    """
    rng = dice(seed, "toy")
    # Each pair of syllables makes one name, in one of its two orders.
    pairs = [pair if rng.random() < 0.5 else pair[::-1] for pair in combinations(SYLLABLES, 2)]
    names = [" ".join(pair) for pair in rng.sample(pairs, count)]
    # Entities alternate between the two kinds; links lead to the other kind.
    kinds = [range(first, count, 2) for first in (0, 1)]
    return [
        Being(
            name,
            f"https://toy{number // PER_SITE}.example/{name.replace(' ', '-').lower()}",
            _facts(rng, FACTS[number % 2]),
            tuple(rng.sample(kinds[1 - number % 2], len(LINKS))),
        )
        for number, name in enumerate(names)
    ]


def _facts(rng: Random, labels: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple(zip(labels, rng.sample(OTHERS, len(labels)), strict=True))


def _sites(beings: Sequence[Being]) -> list[Site]:
    return [
        Site(f"toy{first // PER_SITE}.example", f"Toy {first // PER_SITE}", "toy", "",
             partial(_leaves, beings, beings[first : first + PER_SITE]))
        for first in range(0, len(beings), PER_SITE)
    ]  # fmt: skip


def _leaves(beings: Sequence[Being], mine: Sequence[Being], site: Site) -> Iterator[Leaf]:
    for being in mine:
        yield Leaf(being.url.removeprefix(site.base), partial(_page, beings, being))


def _page(beings: Sequence[Being], being: Being) -> str:
    facts = [f"<p>{label} {value}</p>" for label, value in being.facts]
    others = [(label, beings[other]) for label, other in zip(LINKS, being.links, strict=True)]
    links = [f'<p>{label} <a href="{other.url}">{other.name}</a></p>' for label, other in others]
    return f"<!doctype html><title>{being.name}</title><main><h1>{being.name}</h1>{''.join(facts + links)}</main>"


def _tasks(seed: int, beings: Sequence[Being]) -> Iterator[dict[str, object]]:
    """Yield three tasks for each entity: one of its facts, a fact of an entity it links to, and all its facts as a
    report.
    """
    for number, being in enumerate(beings):
        rng = dice(seed, "toy", "task", number)
        label, value = rng.choice(being.facts)
        link = rng.randrange(len(LINKS))
        other = beings[being.links[link]]
        last, far = rng.choice(other.facts)
        yield _task(f"{label.title()} of {being.name}", value, [(being, label, value)], "fact")
        steps = [(being, LINKS[link], other.name), (other, last, far)]
        yield _task(f"{last.title()} of {LINKS[link].title()} of {being.name}", far, steps, "linked fact")
        claims = [(being, *fact) for fact in being.facts]
        yield _task(f"Report on {being.name}", claims[0][2], claims, "report") | {"answer_type": "report", "hops": 1}


def _task(question: str, answer: str, steps: list[tuple[Being, str, str]], recipe: str) -> dict[str, object]:
    evidence = [{"url": being.url, "quote": f"{label} {value}", "value": value} for being, label, value in steps]
    name = question.replace(" ", "-").lower()
    return {
        "id": name, "question": question, "answers": [answer, evidence[-1]["quote"]], "evidence": evidence, "hops": len(steps),
        "recipe": recipe,
    }  # fmt: skip
