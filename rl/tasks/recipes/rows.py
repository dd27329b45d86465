"""Facts from keys and values (`infobox`) and from cells of tables (`table`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from webemu.rl import gates
from webemu.rl.tasks.recipes import grid, values
from webemu.rl.tasks.recipes.parsed_page import PAGE, PageFact, ParsedPage

MAX_KEY_CHARACTERS = 40
"""Largest number of characters of a key or heading."""
_CONTROL_LABELS = frozenset(
    "previous next edit share home up top back search menu login navigation links contents tags tools actions download "
    "print more read show hide close open help contact subscribe follow reply comment comments related categories "
    "category posted filed note notes warning tip see example examples usage syntax description parameters returns "
    "copyright source attention important caution hint deprecated todo summary details name default type value".split()
)
"""Labels of a page's controls and boxes, and headings too general to be asked for."""
_CODE = re.compile(
    r"[{}<>=|\\`*]|::|->|\(\)|https?:"
    r"|^(?:const|struct|enum|union|unsigned|int|long|char|void|bool|\w+_t|[us]\d\d)\b|^(\w+) (?i:\1)$"
    r"|^\w*(?:[a-z][A-Z]|[a-z]\d)\w* [a-z_]+$"
)
"""Signs of code, including declarations in C: their descriptions are no facts."""
ASKABLE_KEYS = re.compile(
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
"""Keys that read well in "what is the ...?"."""


def find_key_values(parsed: ParsedPage) -> Iterator[PageFact]:
    """Yield facts from infoboxes and lists of terms."""
    pair_lists = [one for one in grid.read_tables(parsed.tree, parsed.skip) if isinstance(one, grid.KeyValuePairs)]
    key_counts = Counter(key.lower().rstrip(": ") for box in pair_lists for key, _ in box.rows)
    value_counts = Counter(values.clean(value) for box in pair_lists for _, value in box.rows)
    for box in pair_lists:
        for key, value in box.rows:
            key = key.rstrip(": ")
            typed_answers = values.classify_answer(value)
            if reason := _key_rejection_reason(key) or ("key given twice" if key_counts[key.lower()] > 1 else ""):
                parsed.skip(reason)
            elif typed_answers is None or value_counts[values.clean(value)] > 1:
                parsed.skip("value no answer")
            # Such a value can be guessed from the name of the page.
            elif _long_words(value) & _long_words(parsed.short_title):
                parsed.skip("value says the title")
            elif quote := parsed.find_row(key, value) if box.is_table else parsed.find_pair(key, value):
                yield PageFact(
                    _build_question(key, box), typed_answers[1], typed_answers[0], quote, values.clean(value)
                )
            else:
                parsed.skip("row not in text")


def _build_question(key: str, box: grid.KeyValuePairs) -> str:
    """Return the question for the value of a key."""
    if box.is_table and ASKABLE_KEYS.search(key) and "(" not in key:
        return f"According to {PAGE}, what is the {_lower_words(key)}?"
    return f'What does {PAGE} give for "{key}"?'


def _long_words(text: str) -> set[str]:
    """Return the words of more than three letters. Names of files and modules count as several words."""
    return {word for word in re.split(r"[\W_]+", text.lower()) if len(word) > 3}


def _lower_words(key: str) -> str:
    """Return the key with its capitalised words in lower case; acronyms stay."""
    return " ".join(word.lower() if word.istitle() else word for word in key.split())


def find_cells(parsed: ParsedPage) -> Iterator[PageFact]:
    """Yield facts from tables: the cell in a column, for the row that the first cell names."""
    tables = [table for table in grid.read_tables(parsed.tree, parsed.skip) if isinstance(table, grid.DataTable)]
    # Two tables may have the same row and column.
    cell_counts = Counter(
        (row[0].lower(), column.lower()) for table in tables for row in table.rows for column in table.columns
    )
    for table in tables:
        table_phrase = describe_table(table, tables)
        for column_index, column in enumerate(table.columns[1:], 1):
            value_counts = Counter(values.clean(row[column_index]) for row in table.rows)
            for row in table.rows:
                typed_answers = values.classify_answer(row[column_index])
                if (
                    reason := label_rejection_reason(row[0])
                    or label_rejection_reason(column)
                    or ("" if table_phrase else "which table")
                ):
                    parsed.skip(reason)
                elif cell_counts[row[0].lower(), column.lower()] > 1:
                    parsed.skip("key given twice")
                elif typed_answers is None or value_counts[values.clean(row[column_index])] > 1:
                    parsed.skip("value no answer")
                elif quote := parsed.find_row(row[0], row[column_index]):
                    question = f'In {table_phrase} {PAGE}, what does the column "{column}" say for "{row[0]}"?'
                    yield PageFact(question, typed_answers[1], typed_answers[0], quote, values.clean(row[column_index]))
                else:
                    parsed.skip("row not in text")


def describe_table(table: grid.DataTable, tables: list[grid.DataTable]) -> str:
    """Return words that identify a table among those of its page; empty if nothing does."""
    if len(tables) == 1:
        return "the table of"
    if not 3 <= len(table.name) <= 80 or '"' in table.name or sum(other.name == table.name for other in tables) > 1:
        return ""
    return f'the table "{table.name}" of' if table.has_caption else f'the table under "{table.name}" of'


def _key_rejection_reason(key: str) -> str:
    """Return why a key cannot be asked for; empty if it can."""
    if key.partition("(")[0].strip().lower() in _CONTROL_LABELS:
        return "key is a control"
    return label_rejection_reason(key)


def label_rejection_reason(label: str) -> str:
    """Return why the name of a row or column cannot be asked for; empty if it can."""
    if not 2 <= len(label) <= MAX_KEY_CHARACTERS or not re.search(r"\w", label) or '"' in label:
        return "key empty or long"
    if _CODE.search(label) or not gates.is_plain(label):
        return "key is code"
    if re.search(r"[.?!…]$|^(?:here$|see )", label, re.IGNORECASE):
        return "key is a control"
    return ""
