"""Proves what a session as of a moment sees: random requests to a server of all captures and to one of the past alone.

The server of the past serves nothing but the snapshot of that moment (`webemu.index.cut`), whose captures are all read
to see that none is later. (a) A session that names this snapshot on the full server must get the same bytes. (b) A
session with `as_of` must get nothing that only later captures say. Its results may stand in another order, since
ranking statistics are those of all captures; how often they do is measured.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import NamedTuple
from urllib.parse import quote, unquote_plus, urlsplit

import orjson

from webemu.api.app import App, create_app
from webemu.api.archives.crawls import find_crawls
from webemu.api.archives.timestamps import format_timestamp
from webemu.api.audit.asking import Answer, ask, open_session
from webemu.api.audit.requests import HERE, AuditRequest, Draw, draw_requests, list_templates
from webemu.api.audit.signs import iter_stamps, iter_urls, readable_text
from webemu.emulator.config import Config
from webemu.emulator.world import World
from webemu.index.cut import cut_snapshot
from webemu.index.later import (
    LaterFacts,
    iter_served_texts,
    keep_unsaid,
    latest_capture,
    list_early_revisits,
    open_pages,
    read_later_facts,
    words_of,
)
from webemu.index.manifest import current_id
from webemu.index.open import open_snapshot, open_world

RULES = {
    "late-capture": "the snapshot of the past holds a capture of later",
    "differs": "(a) a session that names the snapshot of the past got other bytes than its own server gives",
    "differs-by-as-of": "(b) a door without ranking answered a session as of the moment with other bytes",
    "later-text": "(b) an answer says what only later captures say",
    "found-by-later-word": "a page was found by a word that only later captures say",
}
"""Rules that a finding breaks."""
SAMPLES = 4000
"""Captures from which requests are made."""
MIN_DIGITS = 8
"""Shorter numbers are met by chance, in scores and sizes. Strict searches look for those that pages say."""
FIRST_PAGES = 1000
"""Searches whose first pages are compared."""
STRICT_SEARCHES = 500
"""Strict searches for words that only later captures say."""
_SHARED = ("snapshots", "shards", "warc", "downloads", "models")
"""Parts of a collection folder that the folder of the past shares with the original."""
UNRANKED_DOORS = ("fetch", "find", "web", "replay", "cdx", "crawls", "records")
"""Doors whose answers depend on no ranking, and so must be those of the past with plain `as_of` too."""
FILE_DOORS = ("crawls", "records")
"""Doors that may refuse what the past answers: a damaged file, or a record that cannot be told from a later one."""
Progress = Callable[[Iterable[AuditRequest]], Iterable[AuditRequest]]
"""Shows the progress of a loop over requests."""
_NAMES = re.compile(rb'"(?:snapshot|as_of)":(?:"[^"]*"|null)')
"""Matches the members of an answer that name its snapshot or its moment."""


class Finding(NamedTuple):
    """One answer that is not as it must be."""

    rule: str
    """One of `RULES`."""
    request: AuditRequest
    detail: str


@dataclass(slots=True)
class DoorFigures:
    """Requests of one door."""

    requests: int = 0
    equal: int = 0
    """Answers to a session as of the moment that equal those of the past byte for byte."""


@dataclass(slots=True)
class AuditReport:
    """Outcome of an audit."""

    as_of: datetime
    snapshot: str
    """Id of the snapshot of the past."""
    captures: tuple[int, int]
    """Numbers of captures by then and later."""
    later_words: int
    latest: datetime
    """Time of the latest capture in the snapshot of the past."""
    early_revisits: int = 0
    """URLs with a revisit by then whose payload was recorded only later. It is served as of then, since its digest says
    that it was the same; the snapshot of the past does not have it.
    """
    doors: dict[str, DoorFigures] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    strict_searches: int = 0
    first_pages: list[tuple[bool, float]] = field(default_factory=list)
    """Comparison of the first page of each search with that of the past: True if it is the same, and the share of the
    results of the past that it shows.
    """
    chance_words: Counter[str] = field(default_factory=Counter)
    """Words of later pages that were shown, and that earlier captures say where no text is extracted."""


NOWHERE = Draw("zzqxv", "https://zzqxv.example/zzqxv", "19900101000000", prefix="zzqxv")
"""A draw of which no capture says anything: the answer to it is in the server's own words."""


class _Servers(NamedTuple):
    """The two servers, and the sessions that are asked."""

    present: App
    past: App
    named: str
    """Session of the full server that names the snapshot of the past."""
    dated: str
    """Session of the full server as of the moment."""
    alone: str
    """Session of the server of the past, without rules."""


def audit_as_of(
    collection: Path,
    as_of: datetime,
    requests: int = 10_000,
    seed: int = 0,
    doors: Collection[str] = (),
    progress: Progress = lambda requests: requests,
) -> AuditReport:
    """Ask random requests, of the named doors or of all, and return what was found.

    The snapshot of the past is built unless it exists.

        report = audit_as_of(Path("webemu-data/default"), datetime(2024, 6, 1, tzinfo=UTC))
        assert not report.findings

    Raises:
        CatalogError: the catalog is missing or locked.
        SnapshotError: no snapshot is being served.
        BadRequest: nothing was captured by then, or nothing later.
    """
    snapshot = cut_snapshot(collection, as_of)
    facts = read_later_facts(collection, as_of, SAMPLES, seed)
    past_pages = open_pages(collection, snapshot)
    latest = latest_capture(past_pages)
    revisits = list_early_revisits(open_pages(collection, current_id(collection) or ""), past_pages)
    report = AuditReport(as_of, snapshot, facts.captures, len(facts.words), latest, len(revisits))
    if latest.timestamp() >= int(as_of.timestamp()) + 1:
        report.findings.append(Finding("late-capture", AuditRequest("", "", ""), f"{latest:%Y-%m-%dT%H:%M:%SZ}"))
    drawing = _Drawing(facts, open_world(collection), open_snapshot(collection, snapshot))
    with tempfile.TemporaryDirectory(prefix="webemu-audit-") as name:
        apps = _build_apps(Path(name), collection, snapshot)
        asyncio.run(_ask_all(_Audit(report, facts, revisits), apps, drawing, progress, (requests, seed, doors)))
    _drop_chance_words(report, collection)
    return report


async def _ask_all(
    audit: _Audit, apps: tuple[App, App], drawing: _Drawing, progress: Progress, draw: tuple[int, int, Collection[str]]
) -> None:
    """Start the servers and ask everything; `draw` is the number of requests, their seed and their doors."""
    async with AsyncExitStack() as stack:
        for app in apps:
            await stack.enter_async_context(app.fastapi.router.lifespan_context(app.fastapi))
        await _compare_all(audit, await _open_sessions(apps, audit.report, draw[1]), drawing, progress, draw)


async def _compare_all(
    audit: _Audit, servers: _Servers, drawing: _Drawing, progress: Progress, draw: tuple[int, int, Collection[str]]
) -> None:
    count, seed, doors = draw
    random = Random(seed)
    for word in audit.facts.strict_words[: min(STRICT_SEARCHES, count)]:
        await audit.search_strictly(servers, f"{HERE}/v1/search?q={quote(f'+{word}')}&strict=true")
    for query in {drawing(random).query for _ in range(min(FIRST_PAGES, count // 10))}:
        await audit.compare_first_page(servers, AuditRequest("", "GET", f"{HERE}/v1/search?q={quote(query)}"))
    for template in list_templates():
        if (not doors or template.door in doors) and (request := template.fill(NOWHERE, random)):
            audit.learn_own_words(await ask(servers.past, request, servers.alone))
    for request in progress(draw_requests(drawing, count, seed, doors)):
        await audit.compare(servers, request)
    audit.drop_own_words()


def _build_apps(folder: Path, collection: Path, snapshot: str) -> tuple[App, App]:
    """Return the servers of the present and of the past, with ledgers and traces in `folder`."""
    name = collection.name
    for root in ("present", "past"):
        (folder / root / name).mkdir(parents=True)
        for part in _SHARED:
            if (collection / part).exists():
                (folder / root / name / part).symlink_to(collection.resolve() / part)
    (folder / "past" / name / "CURRENT").write_text(snapshot)
    config = Config(root=folder / "present", collection=name, state=str(folder / "state"), slow_ms=0)
    past_config = replace(config, root=folder / "past", state=str(folder / "past-state"))
    past = create_app(past_config, open_snapshot(folder / "past" / name, snapshot))
    return create_app(config, open_world(collection)), past


async def _open_sessions(apps: tuple[App, App], report: AuditReport, seed: int) -> _Servers:
    """Open the three sessions that are compared."""
    present, past = apps
    policy: dict[str, object] = {"snapshot": report.snapshot, "seed": seed}
    named, alone = await open_session(present, policy), await open_session(past, policy)
    dated = await open_session(present, {"as_of": report.as_of.isoformat(), "seed": seed})
    return _Servers(present, past, named, dated, alone)


class _Drawing:
    """Draws words and addresses of captures by then and later."""

    def __init__(self, facts: LaterFacts, world: World, past: World) -> None:
        self._samples = facts.samples
        self._titles = [sample.title for sample in facts.samples if sample.title] or [""]
        self._anchors = facts.anchors or ("",)
        self._words = sorted(word for word in facts.words if len(word) < 20) or [""]
        self._world = world
        crawls = [find_crawls(one) for one in (world, past)]
        # A file that the past has is asked for by its name there: it depends on the captures that are seen.
        self._crawl_by_path = {**crawls[0].crawl_by_path, **crawls[1].crawl_by_path}
        self._name_by_path = {**crawls[0].name_by_path, **crawls[1].name_by_path}

    def __call__(self, random: Random) -> Draw:
        sample = random.choice(self._samples)
        prefix = random.choice(self._titles)[: random.randint(1, 9)]
        draw = Draw(self._query(random), sample.url, sample.stamp, prefix=prefix)
        captures = [one for one in self._world.captures(sample.url) if format_timestamp(one.time) == sample.stamp]
        if not captures:
            return draw
        file, offset, length = captures[0].record
        return draw._replace(
            crawl=self._crawl_by_path[file],
            file=self._name_by_path[file],
            span=f"{offset}-{offset + length - 1}",
        )

    def _query(self, random: Random) -> str:
        sample, other = random.choice(self._samples), random.choice(self._samples)
        words = list(sample.words) or ["page"]
        start = random.randrange(len(words))
        run = " ".join(words[start : start + random.randint(1, 5)])
        title = " ".join(sample.title.split()[: random.randint(1, 6)]) or run
        later = random.choice(self._words)
        host = urlsplit(other.url).netloc
        choices = [
            *(title, run, later, f"{run} {later}", random.choice(self._anchors), f'"{run}"', f"+{later} {run}"),
            *(f"{run} -{later}", f"{later} -{words[0]}", f"intitle:{words[start]}", f"intext:{later}"),
            *(words[start][:4], f"{run} OR {later}", f"site:{host} {run}", f"inurl:{later}", f"what is {title}?"),
            *(f"before:2999 {run}", f"after:2000 {later}", _misspell(title, random), _misspell(later, random)),
        ]
        return random.choice(choices)


def _misspell(words: str, random: Random) -> str:
    """Return the words with two letters exchanged."""
    at = random.randrange(max(1, len(words) - 1))
    return words[:at] + words[at + 1 : at + 2] + words[at : at + 1] + words[at + 2 :]


class _Audit:
    """Compares answers and keeps what was found."""

    def __init__(self, report: AuditReport, facts: LaterFacts, early_revisits: frozenset[str]) -> None:
        self.report = report
        self.facts = facts
        self._later_urls = frozenset(map(unquote_plus, facts.urls))
        self._early_revisits = frozenset(unquote_plus(url).partition("?")[0] for url in early_revisits)
        self._own_words: set[str] = set()

    def learn_own_words(self, answer: Answer) -> None:
        """Take later words in an answer of the past for those of the server itself, such as `text` in a header."""
        self._own_words |= self.facts.words.intersection(words_of(readable_text(answer)))

    async def compare(self, servers: _Servers, request: AuditRequest) -> None:
        """Ask one request in all three sessions."""
        past = await ask(servers.past, request, servers.alone)
        named = await ask(servers.present, request, servers.named)
        dated = await ask(servers.present, request, servers.dated)
        figures = self.report.doors.setdefault(request.door, DoorFigures())
        figures.requests += 1
        if named != past:
            self._find("differs", request, _first_difference(named, past))
        self.learn_own_words(past)
        if _without_names(dated) == _without_names(past):
            figures.equal += 1
        elif self._must_be_equal(request, dated):
            self._find("differs-by-as-of", request, _first_difference(dated, past))
        if dated == past or self._is_about_revisits(readable_text(_echo(request))):
            return
        if signs := self._later_signs(request, past, dated):
            self._find("later-text", request, " ".join(sorted(signs)))

    def drop_own_words(self) -> None:
        """Drop findings that consist of the server's own words, as its answers about the past show them."""
        self.report.findings = [
            finding
            for finding in self.report.findings
            if finding.rule != "later-text" or not self._own_words.issuperset(finding.detail.split())
        ]

    async def search_strictly(self, servers: _Servers, url: str) -> None:
        """Search for one word that only later captures say: what the past does not find must not be found.

        No link of the past says it either, so that the past without the texts of links finds as much as with them.
        """
        request = AuditRequest("", "GET", url)
        dated_request = request._replace(url=f"{url}&as_of={self.report.as_of:%Y-%m-%dT%H:%M:%SZ}")
        past = set(_result_urls(await ask(servers.past, dated_request, servers.alone)))
        with_links = set(_result_urls(await ask(servers.past, request, servers.alone)))
        dated = set(_result_urls(await ask(servers.present, request, servers.dated)))
        self.report.strict_searches += 1
        if more := sorted((dated | with_links) - past):
            self._find("found-by-later-word", request, " ".join(more))

    def _must_be_equal(self, request: AuditRequest, dated: Answer) -> bool:
        """True if a session as of the moment must get the answer of the past: nothing is ranked, no file is refused,
        and no page is named whose payload was recorded later (`AuditReport.early_revisits`).
        """
        if request.door not in UNRANKED_DOORS or (request.door in FILE_DOORS and dated.status >= 400):
            return False
        return not self._is_about_revisits(f"{readable_text(_echo(request))} {readable_text(dated)}")

    def _is_about_revisits(self, text: str) -> bool:
        """True if a text names a page whose payload was recorded later, with other parameters or with none."""
        return not self._early_revisits.isdisjoint(re.split("[?&]", url)[0] for url in iter_urls(text))

    def _later_signs(self, request: AuditRequest, past: Answer, dated: Answer) -> set[str]:
        """Return words, URLs and times of later captures in an answer that neither the request nor the past says."""
        text = readable_text(dated)
        known_text = f"{readable_text(past)} {readable_text(_echo(request))} {self.report.as_of.isoformat()}"
        words = (set(words_of(text)) | set(iter_stamps(text))) & self.facts.words
        words = {word for word in words if len(word) >= MIN_DIGITS or not word.isdigit()}
        urls = set(iter_urls(text)) & self._later_urls
        return (words - set(words_of(known_text)) - set(iter_stamps(known_text))) | (urls - set(iter_urls(known_text)))

    async def compare_first_page(self, servers: _Servers, request: AuditRequest) -> None:
        """Measure how many results of the past a session as of the moment shows on its first page."""
        past = _result_urls(await ask(servers.past, request, servers.alone))
        dated = _result_urls(await ask(servers.present, request, servers.dated))
        if past:
            self.report.first_pages.append((past == dated, len(set(past) & set(dated)) / len(past)))

    def _find(self, rule: str, request: AuditRequest, detail: str) -> None:
        self.report.findings.append(Finding(rule, request, detail))


def _echo(request: AuditRequest) -> Answer:
    """Return an answer that repeats the request."""
    return Answer(200, (), request.text.encode())


def _without_names(answer: Answer) -> Answer:
    """Return an answer without the names of its snapshot and its moment, and the lengths that depend on them."""
    headers = [pair for pair in answer.headers if pair[0] not in (b"x-webemu-snapshot", b"content-length")]
    return Answer(answer.status, tuple(headers), _NAMES.sub(b"", answer.body))


def _result_urls(answer: Answer) -> list[str]:
    """Return the URLs of a search of the native API; none if it was refused."""
    return [result["url"] for result in orjson.loads(answer.body)["results"]] if answer.status == 200 else []


def _first_difference(answer: Answer, other: Answer) -> str:
    """Say where two answers differ first."""
    if answer.status != other.status:
        return f"status {answer.status}, not {other.status}"
    if answer.headers != other.headers:
        return f"headers {sorted(set(answer.headers) ^ set(other.headers))}"
    at = next((i for i, (a, b) in enumerate(zip(answer.body, other.body, strict=False)) if a != b), len(other.body))
    return f"byte {at}: {answer.body[max(0, at - 40) : at + 40]!r}, not {other.body[max(0, at - 40) : at + 40]!r}"


def _drop_chance_words(report: AuditReport, collection: Path) -> None:
    """Drop findings whose words earlier captures say too, in places that ingest extracts no text from."""
    texts = [finding for finding in report.findings if finding.rule == "later-text"]
    words = {word for finding in texts for word in finding.detail.split()}
    if not words:
        return
    unsaid = keep_unsaid(words, iter_served_texts(open_pages(collection, report.snapshot)))
    for finding in texts:
        if not unsaid.intersection(finding.detail.split()):
            report.findings.remove(finding)
            report.chance_words.update(finding.detail.split())
