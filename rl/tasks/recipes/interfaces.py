"""Statements from manuals of software: what a function or class does, since when it exists, and its defaults.

It reads conventions that documentation tools share (Sphinx, pydoctor, Texinfo), not single sites: a title that is a
dotted name or a signature line, a first sentence that says what the thing does, "New in version", "See also".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from webemu.rl import gates
from webemu.rl.tasks.recipes import english
from webemu.rl.tasks.recipes.parsed_page import ParsedPage
from webemu.rl.tasks.recipes.statements import SUBJECT, Statement, Subject
from webemu.rl.tasks.task import AnswerType

_DOTTED = re.compile(r"[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)+")
_ENTRY_LINE = re.compile(r": (?:\[?[\w, ]+\]? = )?(?P<name>[a-z]\w{2,}) ?\(.{0,80}\)(?: ¶)?")
_VERBS = frozenset(
    """accept access add adjust align allow annotate append apply assign attach build calculate call cast change check
    choose clear clip close combine compare compile compose compress compute concatenate connect construct convert copy
    correct count create cut decode decompose decorate deconvolve define delete detect determine differentiate disable
    display divide download draw drop enable encode estimate evaluate execute exit expand export extract fetch fill
    filter find finish fit flatten format generate get group handle hide identify import indicate infer initialize
    insert inspect install integrate interpolate invert iterate join load localize locate look make manage map mark
    match measure merge modify move multiply normalize obtain open order pack parse perform permute pick plot pop
    predict print process produce provide query quit raise rank read rearrange receive reconstruct record redirect
    reduce register remove rename render reorder repeat replace report represent resample reset reshape resize resolve
    restore retrieve return reverse rotate round run sample save scale scan search select send serialize set shift show
    shuffle shut simulate slice smooth solve sort split squeeze stack start stop store subtract sum swap tabulate test
    track transfer transform translate transpose truncate try turn unpack update validate verify view wait wrap write
    """.split()
)
"""Verbs that first sentences of manuals begin with, in their base form."""
_VERSION = re.compile(
    r"(?P<kind>New in version|Added in version|Deprecated since version|Changed in version) "
    r"(?P<version>\d+(?:\.\d+){1,2})\b.*"
)
_CONTRADICTED = re.compile(r"deprecated .{0,80}?\b(?:in|since) (?:[A-Za-z]+ )?\d")
"""A second version in a line about a deprecation, which may be another one."""
_PARAMETERS = re.compile(r"[(,] ?(?P<name>[a-z]\w{2,})(?=[=,)])")
_PARAMETER_VERSION = re.compile(r"New in version (?P<version>\d+(?:\.\d+){1,2})\.")
MAX_BLOCK_CHARACTERS = 600
"""Largest number of characters that the description of a parameter may have to be quoted."""
MAX_OFFSET = 5_000
"""Largest number of characters before the block of a parameter: a page is opened at its first 8,000."""
_REPLACED = re.compile(
    r"(?:Deprecated since version [\d.]+: |Deprecated: |Caution: \w+ is obsolete\. )[Uu]se (?P<name>[A-Za-z_][\w.]*\w)"
    r"(?:\(\))? (?:instead|in all new code)\."
)
_IMPLEMENTS = re.compile(r"Implements interfaces: (?P<name>[\w.]+)")
_IMPLEMENTED = re.compile(r"Known implementations: (?P<name>[\w.]+)")
_DEFAULT = re.compile(r"\b(?P<name>[a-z]\w{2,})=(?P<value>-?\d[\d.e+-]*|'[a-z][\w -]+')(?=[,)])")
_TRIVIAL_DEFAULTS = frozenset(("0.0", "1.0", "0.5", "100", "propagate", "ignore", "raise", "auto"))
_SECTION_TITLES = frozenset(
    "parameters returns raises notes examples references attributes methods yields warns".split()
)
_SENTENCE = re.compile(r"(?P<sentence>[A-Z][^.]{20,170})\.(?= |$)")
_UNFIT = re.compile(
    r"[(){}\[\]<>=\\:;_“”\"]|\b(?:this|these|it|its|self|you|your|see|above|below|deprecated|e\.g|i\.e|given|current)\b",
    re.I,
)


_ASIDE = re.compile(r", \w+ing [^,]*$")
"""End of a sentence that only adds something: ", returning a DataFrame"."""
_SECOND_VERB = re.compile(r"\b(?P<conjunction>and|or) (?P<verb>set|show|return|compute|give|write|convert|print) ")
"""Second verb of a sentence, in the base form."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A function, method or class that a page documents."""

    subject: Subject
    signature: str
    """The line with its parameters; empty if there is none."""
    lines: tuple[str, ...]
    """The lines about it."""
    see_also: tuple[str, ...]
    """Names of other things that it refers to under "See also"."""
    see_also_line: str
    """The line with these names, if they stand in one line; empty otherwise."""


def read_entries(parsed: ParsedPage) -> Iterator[Entry]:
    """Yield what a page documents: one thing if its title is a dotted name, else one for each signature line."""
    name = parsed.short_title.removesuffix(" (class)")
    lines = [line for line in parsed.lines if line]
    if _DOTTED.fullmatch(name):
        if (entry := _make_entry(parsed, name, lines)) is not None:
            yield entry
        return
    starts = [number for number, line in enumerate(lines) if _ENTRY_LINE.fullmatch(line)]
    for number, start in enumerate(starts):
        match = _ENTRY_LINE.fullmatch(lines[start])
        end = starts[number + 1] if number + 1 < len(starts) else len(lines)
        if match and end - start > 1 and (entry := _make_entry(parsed, match["name"], lines[start:end])) is not None:
            yield entry


def _make_entry(parsed: ParsedPage, name: str, lines: list[str]) -> Entry | None:
    """Return the entry of some lines; None if they do not say what the thing does."""
    kind = f"{_product(parsed, name)} {_kind(name, lines)}".strip()
    last = name.rpartition(".")[2]
    if last.startswith("_"):
        return None
    quote, description = _describe(lines)
    parts = name.split(".")
    names = tuple(dict.fromkeys([name, last, ".".join(parts[1:]) or last, ".".join(parts[-2:])]))
    subject = Subject(name, names, kind, description, quote)
    signature = next((line for line in lines[:5] if f"{last}(" in line or f"{last} (" in line), "")
    see_also, see_also_line = _see_also(lines)
    return Entry(subject, signature, tuple(lines), see_also, see_also_line)


def _product(parsed: ParsedPage, name: str) -> str:
    """Return the name of the software: what the title says after the page's own name, or the first part of a name."""
    ending = parsed.page.title.replace(parsed.short_title, " ")
    ending = re.sub(r"\b(?:v?\d[\w.]*|version|documentation|manual|reference|docs)\b", " ", ending, flags=re.IGNORECASE)
    words = re.findall(r"[A-Za-z][\w+-]*", ending)
    return " ".join(words) if 1 <= len(words) <= 3 else name.partition(".")[0] if "." in name else ""


def _kind(name: str, lines: list[str]) -> str:
    """Return the noun for the thing: class, interface, module, method or function."""
    head = " ".join(lines[:4]).lower()
    for noun in ("class", "interface", "module", "package"):
        if f"{noun} documentation" in head or re.search(rf"(?:^| ){noun} {re.escape(name.lower())}", head):
            return noun
    owner = name.rpartition(".")[0].rpartition(".")[2]
    if owner[:1].isupper() or "property" in head[:200]:
        return "attribute" if f"{name.rpartition('.')[2]}(".lower() not in head else "method"
    return "class" if name.rpartition(".")[2][:1].isupper() else "function"


def _describe(lines: list[str]) -> tuple[str, str]:
    """Return the line that says what the thing does, and the words "that does ..."; empty if there is no such line."""
    for line in lines[1:7]:
        match = _SENTENCE.match(line)
        if match is None or _UNFIT.search(match["sentence"]) or len(match["sentence"].split()) < 5:
            continue
        verb, _, ending = _ASIDE.sub("", match["sentence"]).partition(" ")
        ending = _SECOND_VERB.sub(_conjugate, ending)
        base = verb.lower()
        if base in _VERBS:
            return f"{match['sentence']}.", f"that {english.third_person(base)} {ending}"
        if any(english.third_person(one) == base for one in _VERBS):
            return f"{match['sentence']}.", f"that {base} {ending}"
    return "", ""


def _conjugate(match: re.Match[str]) -> str:
    """Return a conjunction and the verb behind it in the third person: `or sets`."""
    return f"{match['conjunction']} {english.third_person(match['verb'])} "


def _see_also(lines: list[str]) -> tuple[tuple[str, ...], str]:
    """Return the names under "See also" and the line that has them, if it is one line."""
    for number, line in enumerate(lines):
        if line.startswith("See also: "):
            return tuple(re.findall(r"[A-Za-z_][\w.]+\w", line.removeprefix("See also: "))), line
        if line == "See also" and number + 1 < len(lines):
            first = lines[number + 1]
            if re.fullmatch(r"[\w.]+(?:, [\w.]+)+", first):
                return tuple(first.split(", ")), first
            return _names_in_block(lines[number + 1 : number + 24]), ""
    return (), ""


def _names_in_block(lines: list[str]) -> tuple[str, ...]:
    """Return the lines of a block that are bare names, up to the next section."""
    names: list[str] = []
    for line in lines:
        if line.lower().rstrip(":") in _SECTION_TITLES:
            break
        if re.fullmatch(r"[A-Za-z_][\w.]{2,}", line):
            names.append(line)
    return tuple(names)


def find_interface_statements(parsed: ParsedPage, entries: tuple[Entry, ...]) -> Iterator[Statement]:
    """Yield the versions and defaults of what a page documents."""
    for entry in entries:
        yield from _read_versions(parsed, entry)
        yield from _read_parameter_versions(parsed, entry)
        yield from _read_defaults(parsed, entry)
        yield from _read_relations(parsed, entry)


def _states(line: str, value: str) -> bool:
    """True if a line says the value behind the word "default"."""
    return gates.contains_answer(line.partition("efault")[2], value)


def _read_versions(parsed: ParsedPage, entry: Entry) -> Iterator[Statement]:
    """Yield the version in which the thing itself was added or deprecated."""
    product = entry.subject.product
    for line in entry.lines[:12]:
        # Below the parameters, a version is that of a parameter.
        if line.lower().rstrip(":") in _SECTION_TITLES:
            return
        match = _VERSION.fullmatch(line)
        if match is None or match["kind"] == "Changed in version" or _CONTRADICTED.search(line):
            continue
        is_new = not match["kind"].startswith("Deprecated")
        templates = (
            (
                f"In which version of {product} was {SUBJECT} introduced?",
                f"Since which version does {product} have {SUBJECT}?",
            )
            if is_new
            else (
                f"Since which version of {product} is {SUBJECT} deprecated?",
                f"Which version of {product} deprecated {SUBJECT}?",
            )
        )
        version = tuple(map(int, match["version"].split(".")))
        yield _statement(
            *(parsed, entry, "introduced" if is_new else "deprecated", templates, match["version"], line, version),
            SUBJECT if is_new else "",
        )


def _read_parameter_versions(parsed: ParsedPage, entry: Entry) -> Iterator[Statement]:
    """Yield the versions in which parameters were added, where the block of a parameter ends with its version."""
    product, names = entry.subject.product, [match["name"] for match in _PARAMETERS.finditer(entry.signature)]
    for name, block in _parameter_blocks(entry.lines, names):
        match = _PARAMETER_VERSION.fullmatch(block[-1])
        quote = " ".join(block)
        if match is None or len(block) < 2 or quote.count(" version ") > 1 or len(quote) > MAX_BLOCK_CHARACTERS:
            continue
        # Manuals repeat versions, so that readers who stop at the first one must already have this one in view.
        if parsed.page.text.find(block[0]) > MAX_OFFSET:
            continue
        topic = f"the parameter {name} of {SUBJECT}"
        templates = (
            f"Since which version of {product} does {SUBJECT} have the parameter {name}?",
            f"In which version of {product} was {topic} added?",
        )
        version = tuple(map(int, match["version"].split(".")))
        yield _statement(parsed, entry, "parameter added", templates, match["version"], quote, version, topic)


def _parameter_blocks(lines: tuple[str, ...], names: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each parameter with the lines about it, from the section "Parameters"."""
    start = next((number for number, line in enumerate(lines) if line.lower().rstrip(":") == "parameters"), len(lines))
    remaining, name, block = list(names), "", list[str]()
    for line in lines[start + 1 :]:
        is_end = line.lower().rstrip(":") in _SECTION_TITLES or line == "See also"
        # The text has no space between a name and its type; parameters come in the order of the signature.
        following = "" if is_end else next((one for one in remaining if line.startswith(one)), "")
        if (is_end or following) and name:
            yield name, block
        if is_end:
            return
        if following:
            remaining = remaining[remaining.index(following) + 1 :]
            name, block = following, []
        block.append(line)


def _read_relations(parsed: ParsedPage, entry: Entry) -> Iterator[Statement]:
    """Yield what replaces a deprecated thing, which interface a class implements, and what implements an interface."""
    for line in entry.lines[:14]:
        if line.lower().rstrip(":") in _SECTION_TITLES:
            return
        # A private name is an accident of the program.
        if "._" in line:
            continue
        if match := _REPLACED.match(line):
            templates = (
                f"What should be used instead of {SUBJECT}, which is deprecated?",
                f"Since {SUBJECT} is deprecated, what is recommended in its place?",
            )
            phrase = f"the recommended replacement of {SUBJECT}"
            yield _relation(parsed, entry, "replacement", templates, match["name"], line, phrase)
        elif match := _IMPLEMENTS.fullmatch(line):
            templates = (f"Which interface does {SUBJECT} implement?", f"Which interface is implemented by {SUBJECT}?")
            phrase = f"the interface that {SUBJECT} implements"
            yield _relation(parsed, entry, "interface", templates, match["name"], line, phrase)
        elif match := _IMPLEMENTED.fullmatch(line):
            templates = (f"Which class implements {SUBJECT}?", f"What is the only class that implements {SUBJECT}?")
            phrase = f"the class that implements {SUBJECT}"
            yield _relation(parsed, entry, "implementation", templates, match["name"], line, phrase)


def _relation(
    parsed: ParsedPage, entry: Entry, relation: str, templates: tuple[str, ...], name: str, line: str, phrase: str
) -> Statement:
    """Return a statement whose answer is another documented thing."""
    page, parts = parsed.page, name.split(".")
    answers = tuple(dict.fromkeys([name, parts[-1], ".".join(parts[-2:]), ".".join(parts[1:]) or name]))
    return Statement(
        *(page.url, page.digest, page.host, relation, templates, answers, "name", line, name, entry.subject, phrase)
    )


def _read_defaults(parsed: ParsedPage, entry: Entry) -> Iterator[Statement]:
    """Yield the default values of parameters that nobody would guess."""
    for match in _DEFAULT.finditer(entry.signature):
        name, value = match["name"], match["value"].strip("'")
        # A number up to ten is guessed too easily.
        if value in _TRIVIAL_DEFAULTS or len(value) > 20 or re.fullmatch(r"-?\d|10", value):
            continue
        line = next((one for one in entry.lines if one.startswith(name) and _states(one, value)), "")
        if not line:
            continue
        amount = Decimal(value) if re.fullmatch(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", value) else None
        templates = (
            f"What is the default value of the parameter {name} of {SUBJECT}?",
            f"Which value does {SUBJECT} use for {name} by default?",
        )
        yield _statement(parsed, entry, f"default of {name}", templates, value, line, amount)


def _statement(
    parsed: ParsedPage,
    entry: Entry,
    relation: str,
    templates: tuple[str, ...],
    value: str,
    quote: str,
    amount: tuple[int, ...] | Decimal | None,
    topic: str = "",
) -> Statement:
    """Return a statement about an entry."""
    page = parsed.page
    kind: AnswerType = "number" if re.fullmatch(r"-?\d+(?:\.\d+)?", value) else "name"
    answers = _version_spellings(value) if isinstance(amount, tuple) else (value,)
    return Statement(
        *(page.url, page.digest, page.host, relation, templates, answers, kind, quote, value),
        *(entry.subject, "", amount, topic),
    )  # fmt: skip


def _version_spellings(version: str) -> tuple[str, ...]:
    """Return a version as it is written, and with or without a zero at its end: people call 1.5.0 "1.5"."""
    parts = version.split(".")
    if len(parts) == 2:
        return version, f"{version}.0"
    return (version, ".".join(parts[:2])) if parts[2:] == ["0"] else (version,)
