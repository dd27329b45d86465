"""Questions for the oldest version of a software that has several things (`requires`).

Each thing came with a version that only its own page states, so that all pages must be read to know the latest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.recipes import english
from webemu.rl.tasks.recipes.alike import are_distinct, draw_alike, take_turns
from webemu.rl.tasks.recipes.asking import MAX_QUESTION_CHARACTERS, is_sound, make_task
from webemu.rl.tasks.recipes.statements import SUBJECT, Statement, subject_of
from webemu.rl.tasks.recipes.store import StatementStore, interleave, load_store
from webemu.rl.tasks.task import Task

MAX_TASKS_PER_PAGE = 2
"""Largest number of tasks with the same page."""
_SIZES = (2, 2, 3)
"""Numbers of things in a question, drawn in turn."""
_TEMPLATES = (
    "Our program uses {things}. Which version of {product} does it need at least?",
    "What is the oldest version of {product} that has {both}{things}?",
    "From which version of {product} on can a program use {both}{things}?",
)


def generate_requirements(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions for the version that a program needs which uses two or three things."""
    store, pages = load_store(sources.crawl), Counter[str]()

    def fits(group: Sequence[Statement], statement: Statement) -> bool:
        is_new = all(one.amount != statement.amount and are_distinct(one, statement) for one in group)
        return is_new and pages[statement.url] < MAX_TASKS_PER_PAGE

    pools = _pools(sources, store, f"{seed}:requires")
    drawn = [draw_alike(pool, subject_of, _SIZES[number % len(_SIZES)], fits) for number, pool in enumerate(pools * 3)]
    for group in take_turns(drawn):
        if (task := _ask(store, group, seed)) is not None:
            pages.update(statement.url for statement in group)
            yield task


def _pools(sources: Sources, store: StatementStore, seed: str) -> list[list[Statement]]:
    """Return the statements about what came with a version, by software, each in an order that the seed decides."""
    pools: defaultdict[str, list[Statement]] = defaultdict(list)
    dated = [
        one
        for one in store.statements
        if one.topic and one.subject and one.subject.product and is_sound(sources.crawl, "requires", one, "")
    ]
    for statement in interleave(dated, lambda statement: statement.relation, seed):
        pools[subject_of(statement).product].append(statement)
    return [pool for _, pool in sorted(pools.items())]


def _ask(store: StatementStore, group: Sequence[Statement], seed: int) -> Task | None:
    """Return the question for the version that has all things of a group; None if it is too long."""
    subjects = [subject_of(statement) for statement in group]
    template = english.choose(_TEMPLATES, str(seed), group[0].url, group[-1].url)
    # Names and descriptions in one question read badly.
    by_description = all(store.is_unique_description(subject.described) for subject in subjects)
    things = [
        statement.topic.replace(SUBJECT, subject.described_in(subject.product) if by_description else subject.name)
        for statement, subject in zip(group, subjects, strict=True)
    ]
    both = "both " if len(group) == 2 else ""
    question = template.format(things=english.join_list(things), product=subjects[0].product, both=both)
    # The page that has the answer comes last.
    ordered = sorted(group, key=lambda statement: statement.amount if isinstance(statement.amount, tuple) else ())
    return make_task("requires", question, ordered) if len(question) <= MAX_QUESTION_CHARACTERS else None
