"""Things that somebody would think of together, which is what makes a comparison of them worth asking.

Two documented functions are alike if they belong to one module or class and share a word of their names, a word of
their descriptions or the beginning of these, or if they share several words. Two other things are alike if they share
rare words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from webemu.rl.tasks.phrases import content_words
from webemu.rl.tasks.recipes.statements import Statement, Subject, subject_of

T = TypeVar("T")

MIN_SHARED_WORDS = 2
"""Smallest number of words that descriptions share if nothing else relates the things."""
BEGINNING_WORDS = 3
"""Number of words at the beginning of descriptions that make members of one class alike."""
_PLAIN_WORDS = frozenset(
    """return returns get gets set sets compute computes calculate calculates given using use uses value values
    object function method class data element elements number whether default based specified input output new first
    second one two three along over string strings array arrays dataframe series index axis column columns row rows
    name saying year published article make makes create creates from into with each methods perform performs result
    construct constructs apply applies check checks find finds determine determines evaluate evaluates convert
    converts matrix point points text format file buffer label header styler another containing current single
    different type types between other there this that
    """.split()
)
"""Words that descriptions of unlike things share as well."""


def is_alike(first: Subject, second: Subject) -> bool:
    """True if somebody may think of both things at once.

    is_alike(read_xml.subject, read_orc.subject)  # True: both belong to pandas and begin with "read"
    """
    shared = _words_of(first.description) & _words_of(second.description)
    if first.kind in ("thing", "article"):
        words = [_words_of(f"{one.name} {one.description}") for one in (first, second)]
        return len(words[0] & words[1]) >= MIN_SHARED_WORDS
    owners = {one.name.rpartition(".")[0] for one in (first, second)}
    parts = [_name_parts(one.name.rpartition(".")[2]) for one in (first, second)]
    has_shared_name = bool(parts[0] & parts[1] - _PLAIN_WORDS)
    if len(owners) == 1 and "" not in owners:
        beginnings = [_beginning(one) for one in (first, second)]
        return has_shared_name or bool(shared) or (beginnings[0] == beginnings[1] != [])
    return len(shared) >= MIN_SHARED_WORDS or (has_shared_name and bool(shared))


def draw_alike(
    members: Sequence[T],
    subject_of: Callable[[T], Subject],
    size: int,
    fits: Callable[[Sequence[T], T], bool],
) -> Iterator[list[T]]:
    """Yield groups of alike members, each begun by the next member that fits an empty group.

    `fits` says whether a member may join the group so far. It is called again for each group, so that it can count
    what was yielded.
    """
    for number, first in enumerate(members):
        group: list[T] = []
        for member in (first, *members[number + 1 :], *members[:number]):
            is_near = not group or (member is not first and is_alike(subject_of(first), subject_of(member)))
            if is_near and fits(group, member):
                group.append(member)
            elif not group:
                break
            if len(group) == size:
                yield group
                break


def are_distinct(first: Statement, second: Statement) -> bool:
    """True if two statements are of different pages, and readers can tell their things apart: each description has a
    word that the other one lacks.
    """
    words = [set(content_words(subject_of(one).description)) for one in (first, second)]
    is_clear = not all(words) or not (words[0] <= words[1] or words[1] <= words[0])
    return first.url != second.url and is_clear


def take_turns(streams: Sequence[Iterator[T]]) -> Iterator[T]:
    """Yield one item of each stream in turn, until all are at their end."""
    remaining = list(streams)
    while remaining:
        for stream in tuple(remaining):
            try:
                yield next(stream)
            except StopIteration:
                remaining.remove(stream)


def _words_of(text: str) -> set[str]:
    """Return the words of a description that say something, without a plural s."""
    words = {word for word in content_words(text) if len(word) > 2} - _PLAIN_WORDS
    return {word.removesuffix("s") for word in words} - _PLAIN_WORDS


def _beginning(subject: Subject) -> list[str]:
    """Return the verb and the object of a description: `writes Styler to`."""
    return subject.description.split()[1 : 1 + BEGINNING_WORDS]


def _name_parts(name: str) -> set[str]:
    """Return the parts of a name in snake case or camel case that have at least three letters, in lower case."""
    return {part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name) if len(part) > 2}
