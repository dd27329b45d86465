"""Simulated user with scripted replies: it knows what the question of a task leaves open, and says so when asked for
that, one thing at a time. Tasks that are clear have the same user, who then has nothing to add.
"""

from __future__ import annotations

import re

from webemu.rl.gates import contains_phrase
from webemu.rl.tasks import Reply
from webemu.rl.verify import normalise
from webemu.rl.wording import relation_words

NO_HELP = "I cannot say more about that."
"""Reply to a question that no scripted reply fits, or that asks for several things."""
MAX_QUESTION_WORDS = 30
"""Words of a question that still asks for one thing."""
_QUESTION_WORD = re.compile(r"\b(?:who|whom|whose|what|which|when|where|why|how)\b")
_INTRODUCTIONS = frozenset("who whom whose what which when where why how mean".split())
"""Words that ask, without saying for what."""
_ASPECTS = (
    frozenset("where region country town city place state county location village".split()),
    frozenset("when year date time edition census month day season".split()),
    frozenset("who whom occupation profession person job work".split()),
)
"""Words for the things that a reply may be about, one set for each; a question may have words of one set only."""


def answer_question(question: str, replies: tuple[Reply, ...], task_question: str = "") -> str:
    """Return the first reply whose topic the question asks for; `NO_HELP` if there is none, or if the question asks
    for several things. A topic is one of the reply's words, or the task's subject after "which" or "who".

        answer_question("In which region?", (Reply(("region",), "The one in Kellmark."),))  # "The one in Kellmark."
    """
    normal_question = normalise(question)
    if not _asks_one_thing(question, normal_question):
        return NO_HELP
    return next((one.says for one in replies if _asks_for(normal_question, one, task_question)), NO_HELP)


def list_topics(reply: Reply) -> list[str]:
    """Return the words of a reply that name what it is about; all of them if none does."""
    return [word for word in reply.words if not set(normalise(word).split()) <= _INTRODUCTIONS] or list(reply.words)


def _asks_one_thing(question: str, normal_question: str) -> bool:
    words = normal_question.split()
    aspect_count = sum(bool(aspect & set(words)) for aspect in _ASPECTS)
    kinds_of_question = {*_QUESTION_WORD.findall(question.casefold())}
    is_short = len(words) <= MAX_QUESTION_WORDS and question.count("?") <= 1
    return is_short and len(kinds_of_question) <= 1 and aspect_count <= 1


def _asks_for(normal_question: str, reply: Reply, task_question: str) -> bool:
    """True if a question has a topic of the reply, or one of its question words together with the task's subject."""
    content = relation_words(normal_question)
    if any(contains_phrase(normal_question, normalise(topic)) for topic in list_topics(reply) if _has_content(topic)):
        return True
    is_asked = any(contains_phrase(normal_question, normalise(word)) for word in reply.words)
    return is_asked and bool(content & relation_words(normalise(task_question)) or "mean" in normal_question.split())


def _has_content(topic: str) -> bool:
    return not set(normalise(topic).split()) <= _INTRODUCTIONS
