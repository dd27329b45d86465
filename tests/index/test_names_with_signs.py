"""Names with signs are found as they are typed, and in the other spelling that people use."""

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


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("names")
    pages = [
        CaptureSpec(f"https://{name}.example/", html("A page", FILLER * 3, text, FILLER))
        for name, text in PAGES.items()
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


def test_phrases_are_as_they_were() -> None:
    assert extract_terms("an x-ray image") == ["an", "x", "ray", "imag", "xray"]
