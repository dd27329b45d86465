"""The formulas of the signals, each on values of its own, and the files that hold them."""

from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest

from webemu.index.columns import Columns, write_columns
from webemu.index.earlier_results import EarlierResult
from webemu.index.page_columns import write_batches
from webemu.index.signals import duplicates, hosts
from webemu.index.signals.linked_hosts import list_linked_hosts
from webemu.index.signals.quality import QUALITY
from webemu.index.signals.urls import ADDRESS
from webemu.ingest.extract.html import count_words
from webemu.ingest.measures import MIN_WORDS, measure_quality

PROSE = (
    "The council met on Tuesday and spoke about roads, bridges and the price of bread in the valley with the mayor. "
)
NUMBERED = " ".join(f"word{number}" for number in range(400))


def address(path: str | None, query: str | None = None) -> float:
    db = duckdb.connect()
    db.execute(ADDRESS)
    return float((db.execute("SELECT address(?, ?)", [path, query]).fetchone() or (0.0,))[0])


def test_short_addresses_promise_more() -> None:
    assert address("/") == address("") == address(None) == address("/index.html") == 1
    falling = [address("/wiki"), address("/wiki/Velmora"), address("/a/b/c/d"), address("/2024/01/03/4711", "id=5&p=2")]
    assert falling == sorted(falling, reverse=True)
    assert all(0 < one < 1 for one in falling)


def test_an_address_is_read_as_people_read_it() -> None:
    assert address("/%E6%9D%B1%E4%BA%AC") == address("/東京") > address("/東京-2024")
    assert 0 < address("/%zz%FF", "%E0%A4%A" * 1000) < 1


PLAIN_ADDRESS = r"""
CREATE TEMP MACRO plain_part(path, query) AS
  regexp_replace(coalesce(try(url_decode(path)), path, ''), '/(index|default)\.\w{2,5}$', '/')
  || coalesce('?' || coalesce(try(url_decode(query)), query), '');
CREATE TEMP MACRO plain_of(part, queried) AS round(exp(-(
  0.15 * len(list_filter(string_split(split_part(part, '?', 1), '/'), lambda x: x <> ''))
  + 0.5 * least(1, greatest(0, length(part) - 1) / 200)
  + length(regexp_replace(part, '\PN', '', 'g')) / greatest(1, length(part))
  + CASE WHEN queried THEN 0.25 ELSE 0 END)), 4)::FLOAT;
CREATE TEMP MACRO plain_address(path, query) AS plain_of(plain_part(path, query), query IS NOT NULL);
"""
"""The formula without its short cuts."""


def test_short_cuts_change_no_address() -> None:
    random = Random(4)
    parts = [
        "/",
        "/",
        "//",
        "a",
        "B1",
        "index.html",
        "/index.php",
        "default.asp",
        "/default.aspx",
        "%C3%A9",
        "%",
        "%zz",
    ]
    parts += ["%2F", "é", "٣", "½", "9", "?", "+", ".", "index.", "x" * 50, " "]

    def draw(longest: int) -> str | None:
        return "".join(random.choices(parts, k=random.randint(0, longest))) if random.random() < 0.9 else None

    with duckdb.connect() as db:
        db.execute(ADDRESS + PLAIN_ADDRESS)
        db.register(
            "drawn", pa.table({"path": [draw(8) for _ in range(9000)], "query": [draw(3) for _ in range(9000)]})
        )
        rows = "SELECT path, query, address(path, query) AS short, plain_address(path, query) AS plain FROM drawn"
        assert db.execute(f"SELECT count(DISTINCT short) > 1000 FROM ({rows})").fetchall() == [(True,)]
        assert db.execute(f"FROM ({rows}) WHERE short IS DISTINCT FROM plain").fetchall() == []


def quality(text: str, language: str | None = "en") -> float:
    db = duckdb.connect()
    db.execute(QUALITY)
    count = count_words(text)
    names = {**measure_quality(text, count)._asdict(), "words": count, "language": language}
    types = {"words": "INT", "language": "VARCHAR", "stop_words": "INT", "signature": "BLOB"}
    row = ", ".join(f"?::{types.get(name, 'FLOAT')} AS {name}" for name in names)
    qualities = db.execute(f"SELECT quality(p) FROM (SELECT {row}) p", list(names.values())).fetchone() or (0.0,)
    return float(qualities[0])


def test_prose_is_sound_in_any_script() -> None:
    assert quality(PROSE * 4) == 1
    assert quality("Der Rat sprach am Dienstag über Straßen und den Preis des Brotes im Tal. " * 5, "de") == 1
    assert quality("日本の首都は東京都です。人口は千四百万人です。" * 10, "ja") == 1
    assert quality("اجتمع المجلس يوم الثلاثاء وتحدث عن الطرق والجسور وسعر الخبز في الوادي مع العمدة. " * 5, "ar") == 1
    assert quality("परिषद की बैठक मंगलवार को हुई और सड़कों पुलों और रोटी की कीमत पर चर्चा की गई। " * 5, "hi") == 1


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        (PROSE, 1),
        ("The sun and moon. " * 2 + "12 34 56 78 | 90 " * 30, 2),
        ((PROSE.strip() + "\n") * 4, 1),
        ("\n".join(f"• The {number} of and about everything that we saw" for number in range(20)), 1),
        ("\n".join(f"The {number} of and about everything we saw..." for number in range(20)), 2),
        ("Buy cheap pills online now fast shipping worldwide " * 10, 1),
        ("", 2),
    ],
)
def test_each_broken_rule_halves_the_quality(text: str, broken: int) -> None:
    assert quality(text) == 0.5**broken


def signature(text: str) -> bytes:
    text_quality = measure_quality(text, count_words(text)).signature
    assert text_quality is not None
    return text_quality


def test_signatures_tell_how_alike_texts_are() -> None:
    own_signature = signature(NUMBERED)
    assert duplicates.estimate_similarity(own_signature, signature(NUMBERED)) == 1
    assert duplicates.estimate_similarity(own_signature, signature(NUMBERED.replace("word200", "other"))) > 0.9
    assert duplicates.estimate_similarity(own_signature, signature(NUMBERED.replace("word", "other"))) < 0.1
    kanji = "".join(chr(0x4E00 + 7 * number % 2000) for number in range(400))
    assert duplicates.estimate_similarity(signature(kanji), signature(kanji + "完")) > 0.9


def test_short_texts_have_no_signature() -> None:
    text = " ".join(["word"] * (MIN_WORDS - 1))
    assert measure_quality(text, count_words(text)).signature is None


def test_a_copy_has_no_word_of_its_own() -> None:
    assert duplicates.is_word_subset("Mayor Brenn spoke.", "Mayor Brenn spoke. (Wire)")
    assert not duplicates.is_word_subset("Mayor Brenn spoke to us.", "Mayor Pell spoke to us. (Wire)")


def test_who_follows_leads_nobody() -> None:
    assert duplicates.assign_cluster_leaders([(1, 2), (2, 3), (3, 4), (3, 5)]) == {2: 3, 4: 3, 5: 3}
    assert duplicates.assign_cluster_leaders([(1, 2), (3, 4)]) == {2: 1, 4: 3}


def test_centrality_counts_near_links_more() -> None:
    links = [(0, 1), (1, 2), (2, 3)]
    assert hosts.compute_centralities(["a", "b", "c", "d"], links) == [0, 1, 1.5, 1 + 1 / 2 + 1 / 3]
    assert hosts.compute_centralities([], []) == []
    assert hosts.normalize_centrality([0.0, 3.0, 1.0, 1.0]) == [0, 1, 0.5, 0.5]


def test_centrality_is_the_sum_of_reciprocal_distances() -> None:
    names = [f"host{number}.org" for number in range(120)]
    choose = Random(4)
    links = sorted({(a, b) for a, b in ((choose.randrange(120), choose.randrange(120)) for _ in range(200)) if a != b})
    graph: dict[int, list[int]] = {}
    for a, b in links:
        graph.setdefault(a, []).append(b)
    expected = [0.0] * len(names)
    for start in range(len(names)):
        distances, waiting = {start: 0}, [start]
        for host in waiting:
            for target in graph.get(host, ()):
                if target not in distances:
                    distances[target] = distances[host] + 1
                    waiting.append(target)
        for host, distance in distances.items():
            expected[host] += 1 / distance if distance else 0
    assert hosts.compute_centralities(names, links) == pytest.approx(expected)
    assert min(expected) == 0 < 20 < max(expected)  # some are reached by none, some by many


def test_a_large_graph_is_walked_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"host{number}.org" for number in range(50)]
    links = [(number, (number + step) % 50) for number in range(50) for step in (1, 7)]
    exact = hosts.compute_centralities(names, links)
    monkeypatch.setattr(hosts, "MAX_REACHED", 750)
    sampled = hosts.compute_centralities(names, links)
    assert sampled != exact
    assert sampled == hosts.compute_centralities(names, links)
    assert sum(sampled) == pytest.approx(sum(exact), rel=0.05)


def test_texts_are_compared_that_share_a_band() -> None:
    random = Random(5)
    bands = [random.randbytes(duplicates.ROWS) for _ in range(60)]
    signatures = [b"".join(random.choices(bands, k=duplicates.BANDS)) for _ in range(300)]
    domains = [random.choice(["a.net", "b.net", None]) for _ in signatures]
    by_band = defaultdict(list)
    for number, signature in enumerate(signatures):
        for band in range(duplicates.BANDS):
            start = band * duplicates.ROWS
            by_band[band, signature[start : start + duplicates.ROWS]].append(number)
    shared = {
        (number, *band)
        for band, numbers in by_band.items()
        if 2 <= len(numbers) <= duplicates.MAX_BAND_TEXTS and len({domains[number] for number in numbers} - {None}) > 1
        for number in numbers
    }
    db = duckdb.connect()
    db.execute(
        "CREATE TABLE pages (source_id INT, warc_record_offset INT, text_hash INT, signature BLOB, searchable BOOL)"
    )
    db.execute("CREATE TABLE captures (source_id INT, warc_record_offset INT, url_host_registered_domain VARCHAR)")
    for number, (signature, domain) in enumerate(zip(signatures, domains, strict=True)):
        db.execute("INSERT INTO pages VALUES (1, ?, ?, ?, true)", [number, number, signature])
        db.execute("INSERT INTO captures VALUES (1, ?, ?)", [number, domain])
    duplicates.fill_bands(db)
    assert set(db.execute("SELECT text_hash, band, value FROM near_band").fetchall()) == shared
    assert 0 < len(shared) < len(signatures) * duplicates.BANDS


@pytest.mark.parametrize("seed", range(12))
def test_bands_built_upon_earlier_ones_are_those_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    random = Random(seed)
    monkeypatch.setattr(duplicates, "MIN_SHARE", random.choice((0, 0.75)))
    monkeypatch.setattr(duplicates, "_BANDED", duplicates._BANDED.replace("AND 50 ", "AND 4 "))
    bands = [random.randbytes(duplicates.ROWS) for _ in range(400)]
    signatures = [b"".join(random.choices(bands, k=duplicates.BANDS)) for _ in range(40)] + [None]
    pages = [
        (random.randrange(6), number, text, signatures[text % 41], random.random() < 0.9)
        for number, text in enumerate(random.choices(range(60), k=90))
    ]
    domains = [random.choice(["a.net", "b.net", "c.net", None]) for _ in pages]

    def count(sources: Collection[int], earlier: EarlierResult | None, keep: Path) -> list[tuple[object, ...]]:
        db = duckdb.connect()
        db.execute("CREATE TABLE sources AS SELECT unnest($1::BIGINT[]) AS source_id, 10 AS pages", [list(sources)])
        db.execute("CREATE TABLE captures (source_id INT, warc_record_offset INT, url_host_registered_domain VARCHAR)")
        db.execute(
            "CREATE TABLE pages (source_id INT, warc_record_offset INT, text_hash INT, signature BLOB, searchable BOOL)"
        )
        for page, domain in zip(pages, domains, strict=True):
            if page[0] in sources:
                db.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", page)
                db.execute("INSERT INTO captures VALUES (?, ?, ?)", [*page[:2], domain])
        duplicates.fill_bands(db, earlier)
        db.execute(duplicates._KEEP.format(path=keep))
        return db.execute("SELECT text_hash, domain, band, value FROM near_band ORDER BY ALL").fetchall()

    expected = count(range(6), None, tmp_path / "whole.parquet")
    assert len(expected) > 20
    for earlier_sources in ([0], [0, 1, 2, 3, 4], [1, 2, 3, 5], range(6)):
        kept_file = tmp_path / "earlier.parquet"
        before = count(earlier_sources, None, kept_file)
        assert (before == expected) == (len(earlier_sources) == 6)
        assert (
            count(range(6), EarlierResult(kept_file, frozenset(earlier_sources), {}), tmp_path / "again.parquet")
            == expected
        )


def test_links_with_a_port_or_www_are_of_the_host() -> None:
    db = duckdb.connect()
    db.execute("CREATE TABLE captures (source_id INT, warc_record_offset INT, url_host_name VARCHAR, "
               "url_host_registered_domain VARCHAR)")  # fmt: skip
    db.execute("CREATE TABLE links (source_id INT, warc_record_offset INT, target VARCHAR)")
    for number, host in enumerate(["www.a.net", "b.net", "sub.b.net", "c.net"]):
        domain = host.removeprefix("www.").removeprefix("sub.")
        db.execute("INSERT INTO captures VALUES (1, ?, ?, ?)", [number, host, domain])
    links_by_page = {
        0: ["https://www.b.net:8443/x", "http://b.net/y"],
        1: ["https://a.net/"],
        2: ["http://b.net/"],
        3: ["https://www.a.net", "mailto:a", "https://d.net/"],
    }
    for page, target in [(page, target) for page, targets in links_by_page.items() for target in targets]:
        db.execute("INSERT INTO links VALUES (1, ?, ?)", [page, target])
    db.execute("CREATE TABLE sources AS SELECT 1 AS source_id, 10 AS content_hash")
    list_linked_hosts(db)
    names, links = hosts.read_graph(db)
    assert [(names[source], names[target]) for source, target in links] == [
        ("a.net", "b.net"), ("b.net", "a.net"), ("c.net", "a.net")
    ]  # fmt: skip


def test_columns_hold_those_of_the_shards_and_what_was_written_in_batches(tmp_path: Path) -> None:
    numbers = [2**32 - 1, 0, 1]
    table = pa.table({
        "since": pa.array([5, -6, 7], pa.int64()),
        "day": pa.array([1, -2, 3], pa.int32()),
        "domain": pa.array(numbers, pa.uint32()),
        "address": pa.array([0.25, 0, 1], pa.float32()),
        "quality": pa.array([1, 0.125, 0], pa.float32()),
    })  # fmt: skip
    [batch] = table.to_batches()
    shards = [tmp_path / "0", tmp_path / "1"]
    write_batches(shards[0], [batch.slice(0, 2)])
    write_batches(shards[1], [batch.slice(2, 1)])
    table = pa.table({
        "until": pa.array([2**62, 0, 9], pa.int64()),
        "cluster": pa.array([-(2**63), 2**63 - 1, 0], pa.int64()),
        "order": pa.array([2, 2**32 - 1, 0], pa.uint32()),
        "host": pa.array([0, 0.5, 1], pa.float32()),
    })  # fmt: skip
    # Slices of one batch: their values begin inside its memory. Neither ends where a shard does.
    [batch] = table.to_batches()
    write_columns(tmp_path / "columns", shards, [batch.slice(0, 1), batch.slice(1, 2)])
    columns = Columns(tmp_path / "columns")
    assert {name: list(getattr(columns, name)) for name in table.column_names} == table.to_pydict()
    assert (list(columns.since), list(columns.day)) == ([5, -6, 7], [1, -2, 3])
    assert (list(columns.address), list(columns.quality)) == ([0.25, 0, 1], [1, 0.125, 0])
    assert list(columns.domain) == numbers
    write_columns(tmp_path / "empty", [], [])
    assert list(Columns(tmp_path / "empty").until) == []
    with pytest.raises(ValueError, match="columns of 3 pages, and the catalog has 1"):
        write_columns(tmp_path / "fewer", shards, [batch.slice(0, 1)])
    without_a_host = batch.set_column(3, "host", pa.array([1, None, 0], pa.float32()))
    with pytest.raises(ValueError, match="1 values of a column are null"):
        write_columns(tmp_path / "null", shards, [without_a_host])
