"""Tasks whose answer is a page: found by a sentence that it states (`finding`), or by the words of links (`anchor`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webemu.rl.tasks.crawl import SharedAnchor
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.recipes.parsed_page import (
    PageFact,
    ParsedPage,
    fill_question,
    is_sound,
    make_evidence,
    make_task,
    parse_page,
)
from webemu.rl.tasks.task import Task
from webemu.rl.verify import normalise

# Words of links that control a site rather than describe their target.
_CONTROL_TEXT = re.compile(
    r"(?:click|read|learn|see|view|show|go|back|next|prev(?:ious)?|up|home|top|index|contents?|edit|source|download|more"
    r"|here|link|this|permalink|login|log in|sign|share|print|email|contact|about|help|search|menu|skip|privacy|terms"
    r"|copyright|all rights|powered by|image|photo|logo|rss|feed|subscribe|comment|reply|older|newer|main page)\b"
    r"|.*\b(?:here|this page|website|homepage)$",
    re.IGNORECASE,
)


def find_unique_sentences(parsed: ParsedPage) -> Iterator[PageFact]:
    """Yield sentences that no other page has; the answer is the page's address."""
    host = parsed.page.host.removeprefix("www.")
    for sentence in parsed.sentences:
        if normalise(parsed.short_title) in normalise(sentence):
            parsed.skip("names the page")
        # Two hits are enough to know that the page is not alone.
        elif parsed.crawl.find_phrase(sentence, 2) != [parsed.page.url]:
            parsed.skip("said elsewhere")
        else:
            quoted_sentence = sentence.replace('"', "'")
            question = f'Which page of {host} states: "{quoted_sentence}" Give its address.'
            yield PageFact(
                question, url_spellings(parsed.page.url), "url", sentence, _first_words(sentence), is_computed=True
            )


def _first_words(quote: str) -> str:
    """Return the first six words, which prove that the page was read. Views may split the rest of the line
    differently.
    """
    return " ".join(quote.split()[:6])


def url_spellings(url: str) -> tuple[str, ...]:
    """Return the spellings of a URL: with and without the scheme, `www.` and the final slash."""
    bare = re.sub(r"^https?://", "", url)
    short = bare.rstrip("/")
    www = [name.removeprefix("www.") for name in (bare, short)]
    return tuple(dict.fromkeys([url, url.rstrip("/"), bare, short, *www, f"http://{bare}", f"https://{bare}"]))


def generate_anchor_tasks(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield tasks for pages that several others link to with the same words, which lead to no other page."""
    crawl = sources.crawl
    for anchor in crawl.iterate_anchors(f"{seed}:anchor"):
        page = crawl.find_page(anchor.target)
        parsed = "target not in the crawl" if page is None else parse_page(crawl, page, "anchor")
        if isinstance(parsed, str):
            crawl.skip_counts["anchor", parsed] += 1
        elif reason := _rejection_reason(anchor.text):
            parsed.skip(reason)
        elif fact := _anchor_fact(parsed, anchor):
            question = fill_question(fact, parsed.name)
            if is_sound(fact, parsed, question):
                yield make_task(fact, question, "anchor", make_evidence(fact, parsed.page))


def _anchor_fact(parsed: ParsedPage, anchor: SharedAnchor) -> PageFact | None:
    """Return the question for the page's title or, if the link's words give the title away, for its address."""
    page = parsed.page
    domains = anchor.domains
    linking_sites = " and ".join(domains[:2]) if len(domains) > 1 else f"{domains[0]} ({anchor.page_count} of them)"
    host = page.host.removeprefix("www.")
    lead = f'Pages of {linking_sites} link to a page of {host} with the words "{anchor.text}".'
    quote = next((line for line in parsed.lines if parsed.short_title.lower() in line.lower() and len(line) < 200), "")
    if (
        normalise(anchor.text) in normalise(parsed.short_title)
        or normalise(parsed.short_title) in normalise(anchor.text)
        or not quote
    ):
        quote = next((line for line in parsed.lines if len(line.split()) > 4), quote)
        return PageFact(
            f"{lead} What is its address?", url_spellings(page.url), "url", quote, _first_words(quote), is_computed=True
        )
    return PageFact(f"{lead} What is its title?", (parsed.short_title, page.title), "title", quote, parsed.short_title)


def _rejection_reason(anchor: str) -> str:
    """Return why the words of a link do not describe its target; empty if they do."""
    if not 5 <= len(anchor) <= 80 or not re.search(r"[^\W\d_]{3}", anchor) or '"' in anchor:
        return "anchor empty or long"
    if _CONTROL_TEXT.match(anchor) or re.search(r"https?:|www\.|[{}<>=|\\\ue000-\uf8ff]", anchor):
        return "anchor is a control"
    return "" if len(anchor.split()) > 1 or len(anchor) > 7 else "anchor of one short word"
