"""What tables and lists of terms give for a key, and what a cell of a table says: `infobox`, `table`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from webemu.rl import gates
from webemu.rl.tasks.recipes import grid, values
from webemu.rl.tasks.recipes.parsed_page import PAGE, Fact, Reading

MOST_KEY = 40
_CONTROLS = frozenset(
    "previous next edit share home up top back search menu login navigation links contents tags tools actions download "
    "print more read show hide close open help contact subscribe follow reply comment comments related categories "
    "category posted filed note notes warning tip see example examples usage syntax description parameters returns "
    "copyright source attention important caution hint deprecated todo summary details name default type value".split()
)
"""Words that label a page's controls and boxes, or the columns of a table, rather than a fact."""
_CODE = re.compile(
    r"[{}<>=|\\`*]|::|->|\(\)|https?:"
    r"|^(?:const|struct|enum|union|unsigned|int|long|char|void|bool|\w+_t|[us]\d\d)\b|^(\w+) (?i:\1)$"
    r"|^\w*(?:[a-z][A-Z]|[a-z]\d)\w* [a-z_]+$"
)
"""Also declarations of C, whose descriptions are no facts."""
_NOUNS = re.compile(
    r"\b(?:author|authors|owner|licen[cs]e|version|release|capital|population|area|height|elevation|length"
    r"|width|weight|mass|depth|founder|birthplace|occupation|nationality|genre|director"
    r"|producer|writer|publisher|editor|language|country|city|region|state|province|county|district|mayor"
    r"|president|chairman|headquarters|industry|employees|revenue|website|currency|architect"
    r"|capacity|speed|price|cost|rating|isbn|issn|pages|format|size|frequency|voltage|power|temperature|date|year"
    r"|status|maintainer|developer|platform|operating system|programming language|manufacturer|model|colou?r|material"
    r"|species|genus|family|order|class|formula|density|duration|label|artist|album|team|league|position|number"
    r"|phone|fax|address|postal code|postcode|zip code|location|venue|time ?zone|code|symbol|abbreviation|type|origin"
    r"|collection|subject|creator|contributor|coverage|edition|volume|issue|rights)$",
    re.IGNORECASE,
)


def boxes(reading: Reading) -> Iterator[Fact]:
    """Keys and values of the page."""
    found = [one for one in grid.read(reading.tree, reading.drop) if isinstance(one, grid.Pairs)]
    keys = Counter(key.lower().rstrip(": ") for box in found for key, _ in box.rows)
    held = Counter(values.clean(value) for box in found for _, value in box.rows)
    for box in found:
        for key, value in box.rows:
            key = key.rstrip(": ")
            answers = values.spellings(value)
            if reason := _key_trouble(key) or ("key given twice" if keys[key.lower()] > 1 else ""):
                reading.drop(reason)
            elif answers is None or held[values.clean(value)] > 1:
                reading.drop("value no answer")
            elif _words(value) & _words(reading.head):
                reading.drop("value says the title")
            elif quote := reading.row(key, value) if box.boxed else reading.pair(key, value):
                yield Fact(_ask(key, box), answers[1], answers[0], quote, values.clean(value))
            else:
                reading.drop("row not in text")


def _ask(key: str, box: grid.Pairs) -> str:
    if box.boxed and _NOUNS.search(key) and "(" not in key:
        return f"According to {PAGE}, what is the {_lowered(key)}?"
    return f'What does {PAGE} give for "{key}"?'


def _words(text: str) -> set[str]:
    """The longer ones, parted where names of files and modules are."""
    return {word for word in re.split(r"[\W_]+", text.lower()) if len(word) > 3}


def _lowered(key: str) -> str:
    return " ".join(word.lower() if word.istitle() else word for word in key.split())


def cells(reading: Reading) -> Iterator[Fact]:
    """Cells of tables with headings, by the heading of their column and the first cell of their row."""
    found = [one for one in grid.read(reading.tree, reading.drop) if isinstance(one, grid.Grid)]
    places = Counter((row[0].lower(), column.lower()) for one in found for row in one.rows for column in one.columns)
    for one in found:
        where = place(one, found)
        for number, column in enumerate(one.columns[1:], 1):
            held = Counter(values.clean(row[number]) for row in one.rows)
            for row in one.rows:
                answers = values.spellings(row[number])
                if reason := label_trouble(row[0]) or label_trouble(column) or ("" if where else "which table"):
                    reading.drop(reason)
                elif places[row[0].lower(), column.lower()] > 1:
                    reading.drop("key given twice")
                elif answers is None or held[values.clean(row[number])] > 1:
                    reading.drop("value no answer")
                elif quote := reading.row(row[0], row[number]):
                    ask = f'In {where} {PAGE}, what does the column "{column}" say for "{row[0]}"?'
                    yield Fact(ask, answers[1], answers[0], quote, values.clean(row[number]))
                else:
                    reading.drop("row not in text")


def place(one: grid.Grid, others: list[grid.Grid]) -> str:
    """How a table is told from the others of its page; empty if it cannot be."""
    if len(others) == 1:
        return "the table of"
    if not 3 <= len(one.name) <= 80 or '"' in one.name or sum(other.name == one.name for other in others) > 1:
        return ""
    return f'the table "{one.name}" of' if one.captioned else f'the table under "{one.name}" of'


def _key_trouble(key: str) -> str:
    if key.partition("(")[0].strip().lower() in _CONTROLS:
        return "key is a control"
    return label_trouble(key)


def label_trouble(label: str) -> str:
    """Why the name of a row or column cannot be asked for; empty if it can."""
    if not 2 <= len(label) <= MOST_KEY or not re.search(r"\w", label) or '"' in label:
        return "key empty or long"
    if _CODE.search(label) or not gates.is_plain(label):
        return "key is code"
    if re.search(r"[.?!…]$|^(?:here$|see )", label, re.IGNORECASE):
        return "key is a control"
    return ""
