"""Questions over two pages: one page describes what the other tells about (`joined`, `related`), or both refer to the
answer (`common`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from webemu.rl.tasks.phrases import find_names
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.recipes import english
from webemu.rl.tasks.recipes.alike import draw_alike
from webemu.rl.tasks.recipes.asking import group_of, is_sound, make_task, phrase_question, usable
from webemu.rl.tasks.recipes.interfaces import Entry
from webemu.rl.tasks.recipes.statements import SUBJECT, Statement, Subject, subject_of
from webemu.rl.tasks.recipes.store import StatementStore, interleave, load_store
from webemu.rl.tasks.task import Task
from webemu.rl.verify import normalise

MAX_NAMESAKES = 3
"""Largest number of statements that describe one name; more make the name a common one."""
MAX_PER_NAME = 2
"""Largest number of questions with the description of one name."""
MEMBER = "member"
"""Relation of a documented thing to its module."""
DOCUMENTED = frozenset(("replacement", "interface", "implementation"))
"""Relations whose answer is a documented thing."""


def generate_bridges(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions in which a name is replaced by what another page says of it: its role, its class, its year."""
    store = load_store(sources.crawl)
    describing, per_first = _by_answer(store), Counter[str]()
    for last in interleave(usable(store), group_of, f"{seed}:joined"):
        for name in _names_in(last):
            key = normalise(name)
            options = [one for one in describing.get(key, ()) if one.url != last.url and _is_clear_for(one, last)]
            # Many things happen in a year, and each of them tells which year it is; a module has many members.
            is_clear = len(options) <= MAX_NAMESAKES or name.isdigit() or options[0].relation == MEMBER
            if not options or not is_clear or per_first[key] >= MAX_PER_NAME:
                continue
            first = options[per_first[key] % len(options)]
            question = _replace_name(last, name, first, seed)
            if not question or _names_both(question, name) or not is_sound(sources.crawl, "joined", last, question):
                continue
            per_first[key] += 1
            yield make_task("joined", question, [first, last])
            break


def _by_answer(store: StatementStore) -> dict[str, list[Statement]]:
    """Return the statements that describe their answer, and the members of modules, by the normalised answer."""
    by_answer: defaultdict[str, list[Statement]] = defaultdict(list)
    for statement in store.statements:
        for key in {normalise(answer) for answer in statement.answers} if statement.answer_phrase else ():
            by_answer[key].append(statement)
    for url, digest, host, entry in store.entries:
        subject, module = entry.subject, entry.subject.name.rpartition(".")[0]
        if module and store.is_unique_description(subject.described):
            phrase = f"the module of {subject.product} that has {subject.described_in(subject.product)}"
            by_answer[normalise(module)].append(
                Statement(
                    *(url, digest, host, MEMBER, (phrase,), (module,), "name", entry.lines[0], entry.lines[0]),
                    *(subject, phrase),
                )
            )
    return by_answer


def _is_clear_for(first: Statement, last: Statement) -> bool:
    """True if a statement describes a thing that the question of another is about, and not one of the same name."""
    if first.relation in DOCUMENTED:
        is_same = last.subject is not None and last.subject.name in (first.answers[0], _name_of_neighbour(first))
        return is_same and first.subject is not None and first.subject.name not in last.answers
    return first.relation != MEMBER or (last.subject is not None and last.subject.kind == "thing")


def _name_of_neighbour(statement: Statement) -> str:
    """Return the full name of the answer of a statement if it belongs where the subject does."""
    owner = statement.subject.name.rpartition(".")[0] if statement.subject else ""
    return f"{owner}.{statement.answers[0]}"


def _names_in(statement: Statement) -> list[str]:
    """Return the names in a statement's question that may be replaced: its subject, or names of several words."""
    if statement.subject is not None:
        return [name.strip('"') for name in statement.subject.names]
    names = find_names(statement.templates[0])
    years = re.findall(r"\bin ((?:1[5-9]|20)\d\d)\b", statement.templates[0])
    return [*years, *(name for name in names[1:] + names[:1] if len(name) > 5)]


def _replace_name(last: Statement, name: str, first: Statement, seed: int) -> str:
    """Return the question of a statement with a name replaced by the description of another; empty if it cannot be."""
    described = first.answer_phrase.replace(SUBJECT, first.subject.name if first.subject else "")
    if last.subject is not None:
        return phrase_question(last, described, seed)
    question = phrase_question(last, "", seed)
    parts = re.split(rf"\b{re.escape(name)}\b", question)
    return described.join(parts) if len(parts) == 2 and not parts[1].startswith("-") else ""


def _names_both(question: str, name: str) -> bool:
    """True if the question still has the name that it should only describe."""
    return f" {normalise(name)} " in f" {normalise(question)} "


@dataclass(frozen=True, slots=True)
class Reference:
    """An entry that another one refers to."""

    source: tuple[str, str, str, Entry]
    spelling: str
    """The name as the source writes it."""
    quote: str
    """The line of the source that has it."""

    def as_statement(self, names: tuple[str, ...]) -> Statement:
        """Return the reference as a statement whose answer is the name."""
        url, digest, host, _ = self.source
        return Statement(url, digest, host, "see also", ("",), names, "name", self.quote, self.spelling)


def _references(store: StatementStore) -> dict[tuple[str, str], list[Reference]]:
    """Return the references of all entries by what they refer to: (software, last part of the name)."""
    references: defaultdict[tuple[str, str], list[Reference]] = defaultdict(list)
    for source in store.entries:
        entry = source[3]
        for spelling in dict.fromkeys(entry.see_also) if 2 <= len(entry.see_also) <= 12 else ():
            key = (entry.subject.kind.rpartition(" ")[0], spelling.rpartition(".")[2])
            references[key].append(Reference(source, spelling, entry.see_also_line or spelling))
    return references


def generate_common(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions for the one thing that two alike pages both refer to. Each page alone refers to several."""
    store, per_page = load_store(sources.crawl), Counter[str]()
    names = NameIndex(store)
    references = {key: links for key, links in _references(store).items() if 2 <= len(links) <= 12}

    def fits(group: Sequence[Reference], reference: Reference) -> bool:
        page = reference.source[0]
        return not per_page[page] and all(one.source[0] != page and _share_only(one, reference) for one in group)

    for key in interleave(list(references), lambda key: key[0], f"{seed}:common"):
        for first, second in draw_alike(references[key], _source_of, 2, fits):
            if (task := _common_task(sources, store, names, first, second, seed)) is not None:
                per_page.update((first.source[0], second.source[0]))
                yield task
                break


def _source_of(reference: Reference) -> Subject:
    """Return the thing whose page has a reference."""
    return reference.source[3].subject


def _share_only(first: Reference, second: Reference) -> bool:
    """True if two entries refer to one thing in common, and neither refers to the other."""
    names = [{name.rpartition(".")[2] for name in one.source[3].see_also} for one in (first, second)]
    own_names = {one.source[3].subject.name.rpartition(".")[2] for one in (first, second)}
    return len(names[0] & names[1]) == 1 and not own_names & (names[0] & names[1])


def _common_task(
    sources: Sources, store: StatementStore, index: NameIndex, first: Reference, second: Reference, seed: int
) -> Task | None:
    """Return the question for what two described entries both refer to."""
    subjects = [one.source[3].subject for one in (first, second)]
    if not all(store.is_unique_description(subject.described) for subject in subjects):
        return None
    targets = {index.resolve(one.source, one.spelling) for one in (first, second)} - {""}
    # Two things of the same last name are no common reference.
    if len(targets) > 1:
        return None
    product, last_part = subjects[0].product, first.spelling.rpartition(".")[2]
    noun = "class" if last_part[:1].isupper() else "function"
    question = english.choose(
        (
            "Which {2} {3} is related both to {0} and to {1}, according to their documentation?",
            "Is there a {2} {3} that is related to {0} as well as to {1}? Which one does the documentation of both "
            "name?",
        ),
        *(str(seed), first.spelling, first.source[0]),
    ).format(*(subject.described_in(product) for subject in subjects), product, noun)
    spellings = [first.spelling, second.spelling, first.spelling.rpartition(".")[2]]
    names = tuple(dict.fromkeys([*spellings, *targets]))
    statements = [one.as_statement(names) for one in (first, second)]
    if any(subject.name.rpartition(".")[2].lower() in question.lower().split() for subject in subjects):
        return None
    return (
        make_task("common", question, statements)
        if all(is_sound(sources.crawl, "common", one, question) for one in statements)
        else None
    )


def generate_related(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions for the one of the things that a page refers to of which another page states a version."""
    store = load_store(sources.crawl)
    names = NameIndex(store)
    versions = {
        one.subject.name: one
        for one in store.statements
        if one.relation in ("introduced", "deprecated") and one.subject
    }
    described = [one for one in store.entries if store.is_unique_description(one[3].subject.described)]
    per_last: Counter[str] = Counter()
    for source in interleave(described, lambda source: source[2], f"{seed}:related"):
        targets = {spelling: names.resolve(source, spelling) for spelling in dict.fromkeys(source[3].see_also)}
        dated = [(spelling, versions[name]) for spelling, name in targets.items() if name in versions]
        for spelling, last in dated:
            same = [one for _, one in dated if (one.relation, one.value) == (last.relation, last.value)]
            if len(same) != 1 or last.url == source[0] or len(targets) < 2 or per_last[last.url]:
                continue
            if (task := _related_task(sources, source, spelling, last, seed)) is not None:
                per_last[last.url] += 1
                yield task
                break


class NameIndex:
    """Full names of documented things by their endings, to resolve what a page calls them."""

    def __init__(self, store: StatementStore) -> None:
        self._names: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for _, _, host, entry in store.entries:
            parts = entry.subject.name.split(".")
            for start in range(len(parts)):
                self._names[host, ".".join(parts[start:])].add(entry.subject.name)

    def resolve(self, source: tuple[str, str, str, Entry], spelling: str) -> str:
        """Return the full name of what an entry calls by this name; empty if it is unknown or not clear."""
        candidates = self._names.get((source[2], spelling), set())
        parent = source[3].subject.name.rpartition(".")[0]
        # A bare name means a neighbour.
        neighbours = {name for name in candidates if name.rpartition(".")[0] == parent}
        matches = neighbours if "." not in spelling else candidates
        return next(iter(matches)) if len(matches) == 1 else ""


def _related_task(
    sources: Sources, source: tuple[str, str, str, Entry], spelling: str, last: Statement, seed: int
) -> Task | None:
    """Return the question for a thing by the entry that refers to it and the version that added or deprecated it."""
    entry = source[3]
    product, noun = entry.subject.product, _noun_of(last)
    change = "was added in" if last.relation == "introduced" else "has been deprecated since"
    question = english.choose(
        (
            "Which {4} related to {0} {1} {2} {3}?",
            "The documentation of {0} refers to several others. Which of them {1} {2} {3}?",
        ),
        *(str(seed), source[0], spelling),
    ).format(entry.subject.described_in(product), change, product, last.value, noun)
    if last.subject is None or entry.subject.name.rpartition(".")[2].lower() in question.lower().split():
        return None
    names = tuple(dict.fromkeys([spelling, *last.subject.names]))
    reference = Reference(source, spelling, entry.see_also_line or spelling).as_statement(names)
    heading_line = _heading_of(load_store(sources.crawl), last)
    if not heading_line or not is_sound(sources.crawl, "related", reference, question):
        return None
    # The line of the version does not name the thing, so the page's own line of its name is evidence as well.
    heading = replace(last, quote=heading_line, value=last.subject.name.rpartition(".")[2])
    task = make_task("related", question, [reference, heading, replace(last, answers=names, answer_type="name")])
    return task if product else None


def _noun_of(statement: Statement) -> str:
    """Return the noun for the subject of a statement: function, class. A page seldom tells attributes from methods."""
    noun = subject_of(statement).kind.rpartition(" ")[2]
    return "method" if noun == "attribute" else noun


def _heading_of(store: StatementStore, statement: Statement) -> str:
    """Return the line in which a page introduces the subject of a statement; empty if there is none."""
    entries = (entry for url, _, _, entry in store.entries if url == statement.url)
    entry = next((entry for entry in entries if entry.subject == statement.subject), None)
    if entry is None:
        return ""
    last_part = entry.subject.name.rpartition(".")[2]
    return next((line for line in (entry.signature, *entry.lines[:3]) if last_part in line), "")
