"""Completions from titles."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from webemu.index.titles import MAX_TITLE_CHARACTERS, Titles, complete, fold_words, write_titles


def list_shown(shards: Sequence[Titles], prefix: str, limit: int = 10) -> list[str]:
    return [completion.title for completion in complete(shards, prefix, limit)]


SITES = [f"Page {number} - The Big Site" for number in range(3)]
WORDS = ["Lighthouse museum", "The old lighthouse of Aldmere", "Light", "Lighthouses | Aldmere", "Élan vital"]
ODD = ["x" * (MAX_TITLE_CHARACTERS + 1), "", " - ", "Rock 'n’ roll", "灯塔 guide", "Łódź\ttram", "a\n b"]


@pytest.fixture(scope="module")
def titles(tmp_path_factory: pytest.TempPathFactory) -> Titles:
    folder = tmp_path_factory.mktemp("titles") / "t"
    write_titles(folder, [*SITES, *WORDS, *ODD])
    return Titles(folder)


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("light", ["Light", "Lighthouse museum", "Lighthouses | Aldmere", "The old lighthouse of Aldmere"]),
        ("Lighthouse", ["Lighthouse museum", "The old lighthouse of Aldmere", "Lighthouses | Aldmere"]),
        ("lighthouse ", ["Lighthouse museum", "The old lighthouse of Aldmere"]),
        ("OLD  light", ["The old lighthouse of Aldmere"]),
        ("page", ["Page 0", "Page 1", "Page 2"]),
        ("elan", ["Élan vital"]),
        ("élan v", ["Élan vital"]),
        ("rock 'n' r", ["Rock 'n’ roll"]),
        ("灯", ["灯塔 guide"]),
        ("big", []),
        ("xx", []),
        ("zebra", []),
        ("", []),
        (" -|", []),
        ("l" * 10_000, []),
    ],
)
def test_a_title_is_found_by_how_any_of_its_words_begins(titles: Titles, prefix: str, expected: list[str]) -> None:
    assert list_shown([titles], prefix) == expected
    assert list_shown([titles], prefix, 1) == expected[:1]


def test_the_same_titles_give_the_same_bytes(tmp_path: Path) -> None:
    for name, titles_given in (("a", [*SITES, *WORDS]), ("b", [*SITES, *WORDS]), ("none", [])):
        write_titles(tmp_path / name, titles_given)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()
    assert list_shown([Titles(tmp_path / "none")], "a") == []


def test_completions_of_several_shards_are_those_of_one(tmp_path: Path) -> None:
    random = Random(5)
    words = ["a", "ab", "abc", "abcdefg", "abcdefgh", "abcdefghi", "abcdefgé", "ąćęłńóśź", "灯塔灯塔", "z" * 50, "A B"]
    titles = sorted({" ".join(random.choices(words, k=random.randint(1, 9))) for _ in range(3000)})
    titles = [title for title in titles if len(title) <= MAX_TITLE_CHARACTERS]
    write_titles(tmp_path / "whole", titles)
    for part in range(3):
        write_titles(tmp_path / f"{part}", titles[part::3] + titles[:9])
    one_shard, shards = [Titles(tmp_path / "whole")], [Titles(tmp_path / f"{part}") for part in range(3)]
    prefixes = {title[start : start + length] for title in titles[::40] for start in (0, 3) for length in range(1, 60)}
    assert len(prefixes) > 1000
    for prefix in sorted(prefixes):
        for limit in (1, 7):
            assert list_shown(shards, prefix, limit) == list_shown(one_shard, prefix, limit)
    assert {fold_words(title) for title in list_shown(one_shard, "abcdefgh", 9999)} == {
        words for words in map(fold_words, titles) if any(word.startswith("abcdefgh") for word in words.split()[:12])
    }


def test_the_smallest_places_of_a_range_are_found_by_minima(tmp_path: Path) -> None:
    random = Random(6)
    write_titles(tmp_path / "t", [" ".join(f"w{random.randrange(500)}" for _ in range(8)) for _ in range(800)])
    titles = Titles(tmp_path / "t")
    places = list(titles._places)
    bounds = [0, 1, 31, 32, 33, 63, 64, 3200, len(places) - 1, len(places), *random.sample(range(len(places)), 20)]
    assert len(places) > 200 * 32 / 2
    for start in bounds:
        for end in (bound for bound in bounds if bound >= start):
            for limit in (0, 1, 3, 20):
                assert titles._smallest_places(start, end, limit) == sorted(places[start:end])[:limit]


def test_a_prefix_ends_where_texts_no_longer_begin_with_it(tmp_path: Path) -> None:
    words = ["a", "ab", "abcdefg", "abcdefgh", "abcdefgż", "灯塔", "灯塔灯", "\U0010fffe", "zz", "abcdefghi"]
    write_titles(tmp_path / "t", [*words, *(f"{one} {other}" for one in words for other in words)])
    titles = Titles(tmp_path / "t")
    texts = [titles._text_at(place) for place in titles._places]
    for prefix in {text[:length] for text in texts for length in range(1, 12)}:
        expected = max(at for at, text in enumerate(texts) if text.startswith(prefix)) + 1
        assert titles._find_end(prefix) == expected, prefix


@pytest.mark.parametrize("typed", ["\ud800", "broken \ud800 title", "abcdefg\ud800"])
def test_half_a_surrogate_pair_breaks_nothing(tmp_path: Path, typed: str) -> None:
    write_titles(tmp_path / "t", ["broken \ud800 title", "zebra", "\ud800"])
    titles = [Titles(tmp_path / "t")]
    assert list_shown(titles, "zeb") == ["zebra"]
    assert list_shown(titles, "broken") == ["broken ? title"]
    list_shown(titles, typed)


def test_plain_titles_fold_as_all_others_do() -> None:
    random = Random(3)
    for _ in range(300):
        text = "".join(random.choices("abzAZ019_-'. |\t\n#", k=random.randint(0, 30)))
        assert fold_words(text) == fold_words(f"{text} é").removesuffix("e").rstrip()
