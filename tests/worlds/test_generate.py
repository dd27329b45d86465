"""The generated web: same seed, same bytes; sound WARC files, links that work, questions that can be answered."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin
from urllib.robotparser import RobotFileParser

import pytest
from selectolax.lexbor import LexborHTMLParser
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from webemu.agent_client.questions import parse_question
from webemu.emulator.errors import SourceError
from webemu.worlds import Summary, generate
from webemu.worlds.invent import invent_graph
from webemu.worlds.names import NameRegistry
from webemu.worlds.places import _numbered_variant
from webemu.worlds.site_directory import GAZETTEER_HOST, assign_addresses
from webemu.worlds.sites.encyclopedia import LEXICON_HOST, render_infobox
from webemu.worlds.tasks import DEMO_TEMPLATES, OTHER_TEMPLATES

PAGES = 600


@dataclass(frozen=True, slots=True)
class CrawledRecord:
    """The parts of a record that the tests compare."""

    kind: str
    url: str
    status: str
    headers: dict[str, str]
    body: bytes
    subset: str


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    out = tmp_path_factory.mktemp("synth") / "web"
    return out, generate(out, seed=5, pages=PAGES)


@pytest.fixture(scope="module")
def records(web: tuple[Path, Summary]) -> list[CrawledRecord]:
    return [record for path in sorted(web[0].rglob("*.warc.gz")) for record in read(path)]


def read(path: Path) -> Iterator[CrawledRecord]:
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            yield keep(record, path.parent.name)


def keep(record: ArcWarcRecord, subset: str) -> CrawledRecord:
    http = record.http_headers
    headers = {name.lower(): value for name, value in http.headers} if http else {}
    status = http.get_statuscode() if http else ""
    body = record.content_stream().read()
    return CrawledRecord(
        record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), status, headers, body, subset
    )


def test_the_same_seed_gives_the_same_bytes(web: tuple[Path, Summary], tmp_path: Path) -> None:
    generate(tmp_path / "again", seed=5, pages=PAGES)
    generate(tmp_path / "other", seed=6, pages=PAGES)
    files = {path.relative_to(web[0]): path.read_bytes() for path in web[0].rglob("*") if path.is_file()}
    assert files == {name: (tmp_path / "again" / name).read_bytes() for name in files}
    assert all(files[name] != (tmp_path / "other" / name).read_bytes() for name in files if name.suffix == ".jsonl")


def test_the_demo_web_has_the_promised_size(tmp_path: Path) -> None:
    summary = generate(tmp_path / "web", seed=7, pages=2000)
    assert 36 <= summary.hosts <= 44
    assert 1900 <= summary.pages <= 2150
    assert summary.tasks >= 200


def test_records_are_as_common_crawl_writes_them(web: tuple[Path, Summary], records: list[CrawledRecord]) -> None:
    kinds = [record.kind for record in records if record.kind != "warcinfo"]
    triples = [kinds[n : n + 3] for n in range(0, len(kinds), 3)]
    assert {(a, c) for a, _, c in triples} == {("request", "metadata")}
    assert {b for _, b, _ in triples} == {"response", "revisit"}
    assert len(triples) == web[1].captures
    statuses: dict[str, set[str]] = {}
    for record in records:
        if record.kind in ("response", "revisit"):
            statuses.setdefault(record.subset, set()).add(record.status)
    assert statuses["warc"] == statuses["robotstxt"] == {"200"}
    assert {"301", "302", "304", "404", "410"} <= statuses["crawldiagnostics"]
    listed = "".join(gzip.decompress(path.read_bytes()).decode() for path in web[0].rglob("*.paths.gz")).split()
    assert {web[0] / line for line in listed} == set(web[0].rglob("*.warc.gz"))


def test_every_link_leads_to_a_capture(records: list[CrawledRecord]) -> None:
    captured = {record.url for record in records if record.kind in ("response", "revisit")}
    lost = set()
    for record in records:
        if record.kind == "response" and record.headers["content-type"].startswith("text/html"):
            targets = [node.attributes["href"] or "" for node in LexborHTMLParser(record.body).css("a[href]")]
            targets += [value for name, value in record.headers.items() if name == "location"]
            lost |= {(record.url, target) for target in targets if urljoin(record.url, target) not in captured}
    assert not lost


def test_robots_and_sitemaps_can_be_read(records: list[CrawledRecord]) -> None:
    captured = {record.url for record in records if record.kind == "response"}
    robots = [
        record for record in records if record.url and record.url.endswith("/robots.txt") and record.kind == "response"
    ]
    for record in robots:
        parsed = RobotFileParser()
        parsed.parse(record.body.decode().splitlines())
        assert set(parsed.site_maps() or ()) <= captured
        assert parsed.site_maps()
        assert parsed.can_fetch("any", record.url.replace("robots.txt", "about"))
    maps = [record for record in records if record.kind == "response" and record.url.endswith("/sitemap.xml")]
    assert len(maps) == len(robots)
    pages = {loc.text() for record in maps for loc in LexborHTMLParser(record.body).css("loc")}
    assert pages <= captured | {record.url for record in records if record.kind == "revisit"}


def test_revisits_repeat_what_was_captured(web: tuple[Path, Summary]) -> None:
    digests: dict[str, str] = {}
    claims: list[tuple[str, str | None]] = []
    for path in web[0].rglob("*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                fields = record.rec_headers
                if record.rec_type == "response":
                    digests[fields["WARC-Record-ID"]] = fields["WARC-Payload-Digest"]
                if record.rec_type == "revisit":
                    claims.append((fields["WARC-Refers-To"], fields.get_header("WARC-Payload-Digest")))
    assert len(claims) > 20
    assert all(digest in (None, digests[first]) for first, digest in claims)


def test_tasks_are_understood_and_their_answers_stand_on_the_page(
    web: tuple[Path, Summary], records: list[CrawledRecord]
) -> None:
    bodies = {
        record.url: record.body.decode()
        for record in records
        if record.kind == "response" and LEXICON_HOST in record.url
    }
    tasks = [json.loads(line) for line in (web[0] / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [task["id"] for task in tasks[:12]] == [f"demo-{n:02d}" for n in range(1, 13)]
    assert len({task["question"] for task in tasks}) == len(tasks) == web[1].tasks
    assert {task["recipe"] for task in tasks} == {" > ".join(form.path) for form in (*DEMO_TEMPLATES, *OTHER_TEMPLATES)}
    for task in tasks:
        assert parse_question(task["question"]), task["question"]
        assert task["answers"][0] == task["evidence"][-1]["value"]
        for place in task["evidence"]:
            text = " ".join(LexborHTMLParser(bodies[place["url"]]).text(separator=" ").split())
            assert place["value"] in text, (task["id"], place)


def test_the_graph_names_pages_that_exist(web: tuple[Path, Summary], records: list[CrawledRecord]) -> None:
    captured = {record.url for record in records if record.kind == "response"}
    lines = [json.loads(line) for line in (web[0] / "graph.jsonl").read_text(encoding="utf-8").splitlines()]
    entities = {line["entity"] for line in lines if "entity" in line}
    triples = [line for line in lines if "subject" in line]
    assert len(triples) > 3 * len(entities)
    assert all(triple["subject"] in entities for triple in triples)
    assert {url for line in lines for url in line["urls"]} <= captured


def test_an_early_capture_names_the_mayor_of_that_day(records: list[CrawledRecord]) -> None:
    atlas = assign_addresses(invent_graph(7, 600), 40)
    town = next(town for town in atlas.graph.towns if town.former_mayor >= 0)
    old, new = atlas.graph.people[town.former_mayor].name, atlas.graph.people[town.mayor].name
    assert old in render_infobox(atlas, town, True)
    assert new not in render_infobox(atlas, town, True)
    assert new in render_infobox(atlas, town, False)


def test_it_overwrites_nothing_that_is_no_generated_web(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(SourceError, match="not a generated web"):
        generate(tmp_path, pages=400)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_an_old_edition_says_what_was_so_in_its_day(web: tuple[Path, Summary], records: list[CrawledRecord]) -> None:
    """Its pages are dated, state what the graph has for that day, and differ from the encyclopedia."""
    pages = {
        record.url: record.body.decode()
        for record in records
        if record.kind == "response" and GAZETTEER_HOST in record.url
    }
    lines = [json.loads(line) for line in (web[0] / "graph.jsonl").read_text(encoding="utf-8").splitlines()]
    old = [line for line in lines if "as_of" in line]
    assert {line["relation"] for line in old} == {"mayor_2018", "population_2011", "employees_2018", "students_2018"}
    now = {(line["subject"], line["relation"]): line["object"]["text"] for line in lines if "subject" in line}
    for line in old:
        page = LexborHTMLParser(pages[line["urls"][0]])
        assert line["object"]["text"] in [cell.text() for cell in page.css("td")]
        assert "published_time" in pages[line["urls"][0]]
        assert "1 January 2018" in page.text()
    changed = [
        line for line in old if now[line["subject"], line["relation"].rpartition("_")[0]] != line["object"]["text"]
    ]
    assert len(changed) > 0.7 * len(old)
    current = {line["object"].get("entity") for line in lines if line.get("relation") == "mayor"}
    former = [line["object"] for line in old if line["relation"] == "mayor_2018"]
    assert 0 < sum(one.get("entity") not in current for one in former) < len(former)


def test_series_are_in_the_graph_as_their_pages_have_them(
    web: tuple[Path, Summary], records: list[CrawledRecord]
) -> None:
    bodies = {
        record.url: record.body.decode()
        for record in records
        if record.kind == "response" and LEXICON_HOST in record.url
    }
    lines = [json.loads(line) for line in (web[0] / "graph.jsonl").read_text(encoding="utf-8").splitlines()]
    series = [line for line in lines if line.get("relation", "").startswith(("winner_", "visitors_", "population_"))]
    assert {line["label"] for line in series} >= {"1991", "2012", "2018", "2024"}
    for line in series:
        if "as_of" not in line:
            rows = LexborHTMLParser(bodies[line["urls"][0]]).css("table.wide tr")
            cells = [[cell.text() for cell in row.css("td")] for row in rows]
            assert [line["label"], line["object"]["text"]] in cells


@pytest.mark.parametrize("pages", [400, 800, 1300])
def test_no_two_entities_have_one_title(pages: int) -> None:
    """Titles differ even with 800 pages: five regions, the number of places between a town and its namesake."""
    titles = [entity.title for entity in invent_graph(3, pages).list_entities()]
    assert len(set(titles)) == len(titles)


def test_there_are_names_for_webs_of_any_size() -> None:
    register = NameRegistry()
    names = {register.draw_unique(lambda: "Calva", _numbered_variant).casefold() for _ in range(900)}
    assert len(names) == 900
    assert all("calva" in name for name in names)
