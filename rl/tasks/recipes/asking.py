"""Questions about one statement: by the name of its subject (`fact`), or by a description of it (`described`).

`is_sound` has the checks that all recipes of statements share.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from webemu.rl import gates
from webemu.rl.tasks.crawl import Crawl
from webemu.rl.tasks.recipe import Sources
from webemu.rl.tasks.recipes import english, gold
from webemu.rl.tasks.recipes.parsed_page import MAX_PAGES_WITH_QUOTE
from webemu.rl.tasks.recipes.statements import SUBJECT, Statement
from webemu.rl.tasks.recipes.store import StatementStore, interleave, load_store
from webemu.rl.tasks.task import Task
from webemu.rl.verify import normalise

MAX_QUESTION_CHARACTERS = 420
"""Largest number of characters of a question."""
TASKS_PER_PAGE = 2
"""Largest number of tasks of one recipe with the same page."""


def phrase_question(statement: Statement, subject: str, seed: int) -> str:
    """Return one of the statement's phrasings, chosen by the seed, about a subject."""
    template = english.choose(statement.templates, str(seed), statement.url, statement.relation, statement.value)
    if statement.subject is not None and subject == statement.subject.described:
        subject = statement.subject.described_in(template)
    return english.upper_first(template.replace(SUBJECT, subject))


def is_sound(crawl: Crawl, recipe: str, statement: Statement, question: str) -> bool:
    """True if a statement can be asked with this question. If not, the reason is counted."""
    reason = _rejection_reason(crawl, statement, question)
    if reason:
        crawl.skip_counts[recipe, reason] += 1
    return not reason


def _rejection_reason(crawl: Crawl, statement: Statement, question: str) -> str:
    """Return why a statement cannot be asked; empty if it can."""
    if SUBJECT in question or len(question) > MAX_QUESTION_CHARACTERS:
        return "question too long or incomplete"
    if reason := gold.rejection_reason(statement.answers[0]):
        return reason
    question_text = normalise(question)
    if any(gates.contains_phrase(question_text, normalise(answer)) for answer in statement.answers):
        return "answer in question"
    if shares_words(statement.answers[0], question):
        return "answer guessed from question"
    if not gates.contains_answer(statement.quote, statement.value):
        return "value not in quote"
    page = crawl.find_page(statement.url)
    if page is None or statement.quote not in " ".join(page.text.split()):
        return "quote not in text"
    pages = crawl.find_phrase(statement.quote, MAX_PAGES_WITH_QUOTE + 1) if len(statement.quote) > 40 else ()
    return "said by other pages" if len(pages) > MAX_PAGES_WITH_QUOTE else ""


def shares_words(answer: str, question: str) -> bool:
    """True if at least half of the long words of an answer stand in the question."""
    words = set(re.findall(r"[^\W\d_]{4,}", answer.lower()))
    return bool(words) and 2 * len(words & set(re.findall(r"[^\W\d_]{4,}", question.lower()))) >= len(words)


def group_of(statement: Statement) -> tuple[str, str]:
    """Return host and kind of relation, so that no kind of statement crowds out the others."""
    return statement.host, statement.relation.partition(" ")[0]


def usable(store: StatementStore) -> Sequence[Statement]:
    """Return the statements with one answer, which cannot be guessed from its popularity."""
    return [one for one in store.statements if not store.is_popular(one) and not store.is_ambiguous(one)]


def generate_facts(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions about statements, with the subject by its name."""
    store, per_page = load_store(sources.crawl), Counter[str]()
    for statement in interleave(usable(store), group_of, f"{seed}:fact"):
        question = phrase_question(statement, statement.subject.name if statement.subject else "", seed)
        if per_page[statement.url] < TASKS_PER_PAGE and is_sound(sources.crawl, "fact", statement, question):
            per_page[statement.url] += 1
            yield make_task("fact", question, [statement])


def generate_described(sources: Sources, seed: int) -> Iterator[Task]:
    """Yield questions about statements, with the subject by a description in place of its name."""
    store, per_page = load_store(sources.crawl), Counter[str]()
    for statement in interleave([one for one in usable(store) if one.subject], group_of, f"{seed}:described"):
        described = statement.subject.described if statement.subject else ""
        if not store.is_unique_description(described) or per_page[statement.url] >= TASKS_PER_PAGE:
            continue
        question = phrase_question(statement, described, seed)
        if is_sound(sources.crawl, "described", statement, question):
            per_page[statement.url] += 1
            yield make_task("described", question, [statement])


def make_task(recipe: str, question: str, statements: Sequence[Statement], hops: int = 0) -> Task:
    """Return the task that asks for the last of some statements. By default, each page is a hop."""
    last = statements[-1]
    pages = {one.url for one in statements}
    evidence = tuple(one.evidence for one in statements)
    return Task("", question, last.answers, evidence, hops or len(pages), recipe, last.answer_type)
