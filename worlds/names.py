"""Invent proper names: three sets of syllables, a registry that keeps names unique, and grammar for names in
sentences.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class SyllableSet:
    """Syllables and names that sound like one country."""

    place_stems: tuple[str, ...]
    """First parts of town names."""
    place_endings: tuple[str, ...]
    """Last parts of town names."""
    female_names: tuple[str, ...]
    """Female given names."""
    male_names: tuple[str, ...]
    """Male given names."""
    family_stems: tuple[str, ...]
    """First parts of family names."""
    family_endings: tuple[str, ...]
    """Last parts of family names."""
    river_names: tuple[str, ...]
    """Whole names of rivers."""


def _split_words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NORTH = SyllableSet(
    _split_words(
        "Halver Brenna Keld Thorsk Marlo Askel Wendle Fallow Ostren Grimsel Hexa Lingar Stannel Rothe Calda Birken Elder"
        " Fenna Holme Skell Tarne Wick Yarrow Lunder Dunna Penner Orrin Sedge Quill Raven Harrow Tolla Brack Cutha Wharra"
    ),
    _split_words(
        "ton wick ford by thorpe mere stead holm ness dale gate combe bury minster haven bridge well low mouth field"
    ),
    _split_words(
        "Anna Ilse Maren Greta Edith Sigrid Clara Hanne Ruth Freya Ingrid Marit Astrid Nora Judith Helga Tilda Karin Solveig"
        " Agnes Beatrix Linnea Thea Vera Wilma Elin Petra Johanna Ragna Dagny"
    ),
    _split_words(
        "Anders Tobias Emil Henrik Oskar Magnus Jonas Rolf Felix Edmund Stellan Arvid Gustav Leif Marius Nils Torben Viggo"
        " Walter Erik Harald Hugo Kasper Lorens Mathis Otto Ragnar Sven Ulrik Halvard"
    ),
    _split_words(
        "Tervo Holm Brand Lund Vester Halver Skar Kjell Ander Mork Dahl Ost Rand Thorn Fjel Berg Wend Grim Hag Lind Stell Nord"
        " Varn Krog Eks Hart Ulf Oster Bram Falk"
    ),
    _split_words("sen dal strand gaard en mark quist by ersen rup vik stad mann hoff wick"),
    _split_words(
        "Tesk Orla Wenn Halse Brathe Skerne Yare Lode Mirk Thole Ulse Fenn Garra Isk Kell Nidd Sorrow Wharl Alder Eske"
    ),
)
"""Syllables with a Nordic and English sound."""
SOUTH = SyllableSet(
    _split_words(
        "Val Monte Sera Ori Casta Bella Luce Torre Mira Cora Palma Arda Villa Rocca Fonte Santa Gran Alta Bosca Campi Gera Lava"
        " Nova Piera Ripa Sola Terra Uva Verda Zarra Olme Cerva Doma Fresa Lira"
    ),
    _split_words(
        "vento nara stella mira corso lune rossa tella dorra gano vane zuela monte bruna lago viva seca rena sol dena"
    ),
    _split_words(
        "Lucia Elena Marta Chiara Ines Paola Rosa Carla Teresa Bianca Sofia Livia Alba Noemi Irene Clelia Dora Flavia Gilda"
        " Isaura Marisa Nerea Olivia Pilar Renata Silvia Tecla Viola Zita Amara"
    ),
    _split_words(
        "Marco Dario Luca Pietro Rafael Tomas Andrea Bruno Carlo Diego Enzo Fabio Gino Hector Ivo Julio Leandro Mauro Nico"
        " Orlando Paolo Quinto Renzo Sandro Tito Ugo Vasco Elio Amadeo Cesar"
    ),
    _split_words(
        "Bell Cast Mar Ross Valen Mont Fer Cor Sal Tor Gall Brun Luc Mora Pell Riv Sant Vall Zan Cald Dell Font Gav Lom Mel Nav"
        " Olm Per Quin Ser"
    ),
    _split_words("ini etti ano ello ese aro oni ucci ada izo otti ena ardo ales iero"),
    _split_words(
        "Arno-Vell Serra Luvia Tamara Orbe Calva Mirra Dolna Neva Sessa Torla Varra Zelia Ambra Ripa Frella Gessa Olona Prisa Bruna"
    ),
)
"""Syllables with an Italian and Spanish sound."""
EAST = SyllableSet(
    _split_words(
        "Drav Kost Vel Zor Mir Pras Rud Tav Lub Bol Nov Jas Star Vish Kron Ostr Belo Dobr Grod Hlav Kam Lesk Mor Olsh Pol Rak"
        " Slav Trn Ust Vrat Zel Brod Chel Dub Jez"
    ),
    _split_words("ograd enka ovice itz insk ava een owo ice any ovo aly ets ushka ino ary ovka iska and yne"),
    _split_words(
        "Milena Katya Danica Zora Irena Ludmila Vesna Tatjana Olga Jadwiga Hana Sonja Mirka Nadia Bozena Alina Dragana Eva"
        " Halina Ivana Jelena Kamila Lenka Marika Natasza Radka Svetla Tereza Vlasta Zuzana"
    ),
    _split_words(
        "Pavel Tomasz Milan Igor Bogdan Jan Viktor Stefan Radek Lech Marek Dusan Andrej Borys Cyril Damir Emil Franek Goran"
        " Henryk Ivan Josip Karel Lubos Mirek Nikola Ondrej Petar Roman Vaclav"
    ),
    _split_words(
        "Kow Nov Petr Mil Drag Zel Stan Bor Kral Vuk Jan Pol Rad Sok Tich Urb Vlc Wis Zah Bron Cern Dvor Hor Jez Kub Lis Mas Ned"
        " Ors Pav"
    ),
    _split_words("alski ovic enko ek ansky ak ova-Lis inski aty ic ovec yk ar anek uk"),
    _split_words(
        "Morvina Odra-Sel Vistra Drona Kamen Lubra Sazna Tisla Uhra Vlta Zbruna Bystra Dunava Iskra Jizna Nareva Opava-Lu Prutna Rabna Struma"
    ),
)
"""Syllables with a Slavic sound."""
SYLLABLE_SETS = (NORTH, SOUTH, EAST)
"""All sets of syllables; a country uses the one at its position modulo 3."""


class NameRegistry:
    """Names that are already in use, compared without case."""

    def __init__(self) -> None:
        self._used_names: set[str] = set()

    def draw_unique(self, draw: Callable[[], str], make_variant: Callable[[str, int], str]) -> str:
        """Return a name that is not in use yet, and record it.

        Calls `draw` up to twelve times; if all those names are in use, it varies one more: `make_variant(name, n)` is
        called with n from 2 upwards. Raises OverflowError if 10,000 variants are in use too.
        """
        for _ in range(12):
            if (name := draw()).casefold() not in self._used_names:
                self._used_names.add(name.casefold())
                return name
        name = draw()
        for n in range(2, 10_000):
            if (variant := make_variant(name, n)).casefold() not in self._used_names:
                self._used_names.add(variant.casefold())
                return variant
        raise OverflowError(f"every variant of the name {name!r} is in use; generate a smaller web")


def invent_place_name(rng: Random, syllables: SyllableSet) -> str:
    """Return a town name, two joined syllables."""
    start, end = rng.choice(syllables.place_stems), rng.choice(syllables.place_endings)
    # Two vowels in a row would read badly: the first one goes.
    if start[-1] in "aeo" and end[0] in "aeiou":
        start = start[:-1]
    return start + end


def invent_family_name(rng: Random, syllables: SyllableSet) -> str:
    """Return a family name, two joined syllables."""
    return rng.choice(syllables.family_stems) + rng.choice(syllables.family_endings)


def slugify(text: str) -> str:
    """Return the name as it stands in a URL: ASCII, lower case, hyphens between words."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text.replace("'", "")).strip("-")


def with_article(words: str) -> str:
    """Return the words with their indefinite article in front."""
    return ("an " if words[:1].lower() in "aeiou" else "a ") + words


def join_with_and(items: list[str]) -> str:
    """Return the items as `a, b and c`; empty for none."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else ""
