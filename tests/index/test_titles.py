"""Completions from titles."""

from pathlib import Path
from random import Random

import pytest

from webemu.index.titles import MAX_TITLE_CHARACTERS, Titles, fold_words, write_titles

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
    assert titles.suggest(prefix, 10) == expected
    assert titles.suggest(prefix, 1) == expected[:1]


def test_the_same_titles_give_the_same_bytes(tmp_path: Path) -> None:
    for name, titles_given in (("a", [*SITES, *WORDS]), ("b", [*SITES, *WORDS]), ("none", [])):
        write_titles(tmp_path / name, titles_given)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()
    assert Titles(tmp_path / "none").suggest("a", 3) == []


def test_plain_titles_fold_as_all_others_do() -> None:
    random = Random(3)
    for _ in range(300):
        text = "".join(random.choices("abzAZ019_-'. |\t\n#", k=random.randint(0, 30)))
        assert fold_words(text) == fold_words(f"{text} é").removesuffix("e").rstrip()
