"""Names with signs are found as they are typed, and in the other spelling that people use; so are numbers."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.analysis import add_names, extract_terms
from webemu.index.open import open_world

FILLER = "It is one of the languages and things that a long page tells about, with letters C, F and net and others. "
PAGES = {
    "cplusplus": "Lessons in C++ for beginners",
    "csharp": "Lessons in C# for beginners",
    "letter": "Lessons in C for beginners",
    "dotnet": "Lessons in .NET for beginners",
    "net": "Lessons with a net for beginners",
    "jay": "Songs of Jay-Z and others",
    "bird": "Songs of the jay and letter Z",
    "bowl": "The winner of the Super Bowl of 2016",
    "wifi": "How to set up Wi-Fi at home",
}


NUMBERS = {
    "tower": "The tower is 1,500 metres high",
    "hut": "The tower is 15 metres high, of 1 m and 500 bricks",
    "city": "A city with 2.5 million people",
    "village": "A city with 2 people and 5 million mice",
    "disk": "A disk of 16 GB",
    "tape": "A disk of 61 GB, for 16 people",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return open_pages(tmp_path_factory.mktemp("names"), PAGES)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> World:
    return open_pages(tmp_path_factory.mktemp("numbers"), NUMBERS)


def open_pages(root: Path, texts: Mapping[str, str]) -> World:
    """Return a world with a page for each text."""
    pages = [
        CaptureSpec(f"https://{name}.example/", html("A page", FILLER * 3, text, FILLER))
        for name, text in texts.items()
    ]
    ingest(root / "c", write(root / "a.warc.gz", pages))
    return open_world(root / "c")


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("C++ lessons", "cplusplus"),
        ("lessons in C#", "csharp"),
        ("csharp lessons", "csharp"),
        (".NET lessons", "dotnet"),
        ("dotnet lessons", "dotnet"),
        ("JayZ songs", "jay"),
        ("Jay-Z songs", "jay"),
        ("jayz", "jay"),
        ("SuperBowl 2016 winner", "bowl"),
        ("wifi at home", "wifi"),
        ('"Wi-Fi at home"', "wifi"),
        ('"wi fi at home"', "wifi"),
    ],
)
def test_the_page_is_found_first(world: World, query: str, first: str) -> None:
    assert world.search(Query(query)).hits[0].url == f"https://{first}.example/"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("C++, C#; F# and (.NET)", "Cplusplus Csharp Fsharp"),
        ("run .NET or .bashrc", "dotNET dotbashrc"),
        ("Jay-Z, Wi-Fi, covid-19, utf-8", "JayZ WiFi covid19 utf8"),
        ("T-shirt", "Tshirt"),
        ("well-known apt-get 2024-11-30 10-20 a-b-c --oneline -x x+y a.net #tag ++i", ""),
        ("", ""),
    ],
)
def test_names_come_last(text: str, names: str) -> None:
    assert add_names(text) == f"{text} {names}".strip()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,500 metres", "1500 1500m"),
        ("5 GB, 5-kilometre walk", "5kilometre 5gb 5km"),
        ("5GB", ""),
        ("1.5 million, $2bn, 0.25 thousand, 0 million", "1500000 2000000000 250 0"),
        ("20% or 20 percent at 21.5 °C", "20percent 20percent 21d5c"),
        ("100 km/h", "100km"),
        ("1,000,000.50 or 1'000'000", "1000000"),
        ("v1.5 m, 1.2.3 s, 12,5 km, 10 mice, 1 the, x5 m, 1.2345 thousand", ""),
    ],
)
def test_numbers_make_words_in_one_spelling(text: str, words: str) -> None:
    assert add_names(text) == f"{text} {words}".strip()


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("tower 1500 m", "tower"),
        ("tower of 1,500 meters", "tower"),
        ("1500m tower", "tower"),
        ("city with 2.5 million people", "city"),
        ("city with 2500000 people", "city"),
        ("disk of 16GB", "disk"),
        ("disk of 16 gigabytes", "disk"),
    ],
)
def test_numbers_are_found_in_other_spellings(numbers: World, query: str, first: str) -> None:
    assert numbers.search(Query(query)).hits[0].url == f"https://{first}.example/"


def test_phrases_are_as_they_were() -> None:
    assert extract_terms("an x-ray image") == ["an", "x", "ray", "imag", "xray"]
