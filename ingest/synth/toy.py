"""A web of a few words a page, for models that learn to read from nothing: names, three facts each, and links.

A page is `Kex Rano` with lines like `key Sul Mir` and `twin Tam Vor`, a link. Names and facts are pairs of syllables drawn
anew for each seed, so nothing that a model remembers of one web holds in another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

from emulator.errors import SourceError
from ingest.synth.crawl import visits
from ingest.synth.dice import dice
from ingest.synth.folder import TASKS, writing
from ingest.synth.warcs import write_crawl
from ingest.synth.web import Leaf, Site

SYLLABLES = tuple(
    "Bak Bel Bor Dam Del Dor Fam Fel Fir Gam Gol Gur Hal Hem Hod Jat Jel Jor Kam Kel Kir Lam Lod Lur Mak Mel Mir Nal"
    " Nem Nor Pag Pel Pol Ram Rel Rus Sal Sem Sul Tam Tel Tor Vak Vel Vor Wam Zel Zur".split()
)
"""Of names; facts have others, so that a search for a name finds its page before those that link to it."""
OTHERS = tuple(
    "Ash Bri Cop Dun Elk Fyn Gri Hux Ivo Jun Kip Lyn Mop Nix Oak Pim Qui Ros Sky Tun Urn Vim Wex Yap Zip Cru Fro Sti"
    " Twi Spo".split()
)
FACTS = ("key", "seal", "mark")
LINKS = ("twin", "guard")
PER_SITE = 20
MOST = len(SYLLABLES) * (len(SYLLABLES) - 1) // 2


@dataclass(frozen=True, slots=True)
class Being:
    """Something with a page."""

    name: str
    url: str
    facts: tuple[str, ...]
    """One for each of `FACTS`."""
    links: tuple[int, ...]
    """Positions, one for each of `LINKS`."""


def generate_toy(out: Path, seed: int, pages: int, progress: Callable[[int, int], None] | None = None) -> int:
    """Write such a web and its tasks to the folder `out`; returns the number of tasks.

    Raises SourceError where `out` is something else, or for more pages than there are names.
    """
    if pages > MOST:
        raise SourceError(f"there are names for {MOST} pages, not for {pages}", action=f"--pages {MOST} or fewer")
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
    """The world of that seed. No two names have the same words, since a search minds no order, and no two facts of a
    page share one, since a small model copies what stood behind a word."""
    rng = dice(seed, "toy")
    pairs = [pair if rng.random() < 0.5 else pair[::-1] for pair in combinations(SYLLABLES, 2)]
    names = [" ".join(pair) for pair in rng.sample(pairs, count)]
    facts = [rng.sample(OTHERS, 2 * len(FACTS)) for _ in names]
    return [
        Being(
            name,
            f"https://toy{number // PER_SITE}.example/{name.replace(' ', '-').lower()}",
            tuple(map(" ".join, zip(facts[number][::2], facts[number][1::2], strict=True))),
            tuple(rng.sample([n for n in range(count) if n != number], len(LINKS))),
        )
        for number, name in enumerate(names)
    ]


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
    facts = [f"<p>{label} {value}</p>" for label, value in zip(FACTS, being.facts, strict=True)]
    others = [(label, beings[other]) for label, other in zip(LINKS, being.links, strict=True)]
    links = [f'<p>{label} <a href="{other.url}">{other.name}</a></p>' for label, other in others]
    return f"<!doctype html><title>{being.name}</title><main><h1>{being.name}</h1>{''.join(facts + links)}</main>"


def _tasks(seed: int, beings: Sequence[Being]) -> Iterator[dict[str, object]]:
    """For each being a fact, a fact of what it links to, and all its facts as a report."""
    for number, being in enumerate(beings):
        rng = dice(seed, "toy", "task", number)
        fact, link = rng.randrange(len(FACTS)), rng.randrange(len(LINKS))
        other = beings[being.links[link]]
        last = rng.randrange(len(FACTS))
        yield _task(
            f"{FACTS[fact].title()} of {being.name}",
            being.facts[fact],
            [(being, FACTS[fact], being.facts[fact])],
            "fact",
        )
        steps = [(being, LINKS[link], other.name), (other, FACTS[last], other.facts[last])]
        yield _task(
            f"{FACTS[last].title()} of {LINKS[link].title()} of {being.name}", other.facts[last], steps, "linked fact"
        )
        claims = [(being, label, value) for label, value in zip(FACTS, being.facts, strict=True)]
        yield _task(f"Report on {being.name}", being.facts[0], claims, "report") | {"answer_type": "report", "hops": 1}


def _task(question: str, answer: str, steps: list[tuple[Being, str, str]], recipe: str) -> dict[str, object]:
    evidence = [{"url": being.url, "quote": f"{label} {value}", "value": value} for being, label, value in steps]
    name = question.replace(" ", "-").lower()
    return {
        "id": name, "question": question, "answers": [answer, evidence[-1]["quote"]], "evidence": evidence, "hops": len(steps),
        "recipe": recipe,
    }  # fmt: skip
