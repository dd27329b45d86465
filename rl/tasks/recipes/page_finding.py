"""Finding pages: by what one states (`finding`), by the words that others link to it with (`anchor`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.recipes.parsed_page import Fact, Reading, asked, evidence, is_sound, read, task
from webemu.rl.tasks.task import Task
from webemu.rl.verify import normalise

_CONTROLS = re.compile(
    r"(?:click|read|learn|see|view|show|go|back|next|prev(?:ious)?|up|home|top|index|contents?|edit|source|download|more"
    r"|here|link|this|permalink|login|log in|sign|share|print|email|contact|about|help|search|menu|skip|privacy|terms"
    r"|copyright|all rights|powered by|image|photo|logo|rss|feed|subscribe|comment|reply|older|newer|main page)\b"
    r"|.*\b(?:here|this page|website|homepage)$",
    re.IGNORECASE,
)


def stated(reading: Reading) -> Iterator[Fact]:
    """Sentences that no other page has; the page's address is the answer."""
    host = reading.page.host.removeprefix("www.")
    for sentence in reading.sentences:
        if normalise(reading.head) in normalise(sentence):
            reading.drop("names the page")
        elif reading.crawl.saying(sentence, 2) != [reading.page.url]:
            reading.drop("said elsewhere")
        else:
            said = sentence.replace('"', "'")
            ask = f'Which page of {host} states: "{said}" Give its address.'
            yield Fact(ask, addresses(reading.page.url), "url", sentence, _start(sentence), computed=True)


def _start(quote: str) -> str:
    """The words that a reader of the page must have seen: views differ in how they part what follows."""
    return " ".join(quote.split()[:6])


def addresses(url: str) -> tuple[str, ...]:
    """How an address is written: with and without its scheme, `www.` and the slash at its end."""
    bare = re.sub(r"^https?://", "", url)
    short = bare.rstrip("/")
    www = [name.removeprefix("www.") for name in (bare, short)]
    return tuple(dict.fromkeys([url, url.rstrip("/"), bare, short, *www, f"http://{bare}", f"https://{bare}"]))


def linked(sources: Sources, seed: int) -> Iterator[Task]:
    """Pages that several others link to with the same words, which lead nowhere else."""
    crawl = sources.crawl
    for anchor, target, pages, domains in crawl.anchors(f"{seed}:anchor"):
        page = crawl.page(target)
        reading = "target not in the crawl" if page is None else read(crawl, page, "anchor")
        if isinstance(reading, str):
            crawl.dropped["anchor", reading] += 1
        elif reason := _trouble(anchor):
            reading.drop(reason)
        elif fact := _linked(reading, anchor, pages, domains):
            question = asked(fact, reading.name)
            if is_sound(fact, reading, question):
                yield task(fact, question, "anchor", evidence(fact, reading.page))


def _linked(reading: Reading, anchor: str, pages: int, domains: list[str]) -> Fact | None:
    page = reading.page
    who = " and ".join(domains[:2]) if len(domains) > 1 else f"{domains[0]} ({pages} of them)"
    lead = f'Pages of {who} link to a page of {page.host.removeprefix("www.")} with the words "{anchor}".'
    quote = next((line for line in reading.lines if reading.head.lower() in line.lower() and len(line) < 200), "")
    if normalise(anchor) in normalise(reading.head) or normalise(reading.head) in normalise(anchor) or not quote:
        quote = next((line for line in reading.lines if len(line.split()) > 4), quote)
        return Fact(f"{lead} What is its address?", addresses(page.url), "url", quote, _start(quote), computed=True)
    return Fact(f"{lead} What is its title?", (reading.head, page.title), "title", quote, reading.head)


def _trouble(anchor: str) -> str:
    if not 5 <= len(anchor) <= 80 or not re.search(r"[^\W\d_]{3}", anchor) or '"' in anchor:
        return "anchor empty or long"
    if _CONTROLS.match(anchor) or re.search(r"https?:|www\.|[{}<>=|\\\ue000-\uf8ff]", anchor):
        return "anchor is a control"
    return "" if len(anchor.split()) > 1 or len(anchor) > 7 else "anchor of one short word"
