"""The formulas of the signals, each on values of its own."""

import duckdb
import pytest

from webemu.index.signals import duplicates, hosts
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


def test_a_large_graph_is_walked_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"host{number}.org" for number in range(50)]
    links = [(number, (number + step) % 50) for number in range(50) for step in (1, 7)]
    exact = hosts.compute_centralities(names, links)
    monkeypatch.setattr(hosts, "MAX_TRAVERSALS", 1500)
    sampled = hosts.compute_centralities(names, links)
    assert sampled != exact
    assert sampled == hosts.compute_centralities(names, links)
    assert sum(sampled) == pytest.approx(sum(exact), rel=0.05)
