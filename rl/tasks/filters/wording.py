"""Filters of the wording: a question must make sense to somebody who has no page open, and must not contain its
answer.
"""

from __future__ import annotations

import re

from webemu.rl.gates import contains_phrase
from webemu.rl.tasks.filters.filter import FilterContext, Verdict
from webemu.rl.tasks.phrases import MASK, content_words, mask_quotations
from webemu.rl.tasks.task import Task
from webemu.rl.verify import normalise

_PAGE_NOUNS = (
    r"(?:web ?page|web ?site|page|site|article|text|passage|excerpt|paragraph|section|chapter|document|table|figure"
    r"|list|entry|post|snippet|example|author|source|image|picture|diagram|infobox)"
)
# Each pattern is a reference that makes no sense without the page: "this page", "listed above", a dangling pronoun, a
# relative date, a template that was not filled in.
_REFERENCE_PATTERNS = (
    rf"\b(?:this|these|that|the (?:given|present|current|above|below|following|provided|same)) "
    rf"(?:\w+ )?{_PAGE_NOUNS}s?\b"
    rf"(?! ?{MASK})",
    rf"\b(?:according to|in|on|from|by) the {_PAGE_NOUNS}\b"
    rf"(?! (?:of|on|about|for|titled|called|named|that|which|at|behind|from|by|to)\b| ?{MASK})",
    r"\bthe following\b|\bas follows\b|\baforementioned\b|\babove[- ]mentioned\b|\bthe (?:former|latter)\b",
    r"\b(?:listed|shown|given|stated|noted|described|mentioned|quoted|discussed|defined)"
    r" (?:here|above|below|earlier)\b",
    r"^(?:(?:in|on|at|by|for|from|to|of|with) )?(?:who|whom|whose|what|when|where|which|why|how)(?: \w+){0,2}?"
    r" (?:is|are|was|were|does|do|did|has|have|had|can|could|will|would)"
    r" (?:he|she|it|they|this|these|those|his|her|its|their)\b(?! (?:that|possible|to)\b)",
    r"^(?:who|what|which) \w+ (?:him|her|it|them|this|these|those|his|its|their)\s*\?",
    r"\b(?:yesterday|tomorrow|(?:this|last|next) (?:week|month|year|season|night))\b",
    r"\{\w*\}|\bnull\b(?! hypothes)|\bundefined\b|(?<!/)\bNaN\b(?!/| values?| cells?)",
)
_REFERENCES = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _REFERENCE_PATTERNS)
MIN_CONTENT_WORDS = 2
"""Smallest number of content words in a question."""


async def check_self_contained(task: Task, context: FilterContext) -> Verdict:
    """Reject a question that refers to an unseen page (`this page`, `above`), opens with a dangling pronoun or names
    nothing.
    """
    reference = find_reference(task.question)
    return {"ok": False, "leans": reference} if reference else {"ok": True}


def find_reference(question: str) -> str:
    """Return the words of a question that refer to an unseen page, or all of a question that names nothing; empty if
    it is self-contained.
    """
    # A quoted title may contain such words: "This Is the Page".
    text = " ".join(mask_quotations(question).split())
    reference = next((match[0] for pattern in _REFERENCES if (match := pattern.search(text))), "")
    return reference or ("" if len(content_words(question)) >= MIN_CONTENT_WORDS else question)


async def check_not_given_away(task: Task, context: FilterContext) -> Verdict:
    """Reject a question that contains an accepted answer. A choice is exempt, because it names its options."""
    if task.answer_type in ("choice", "none", "report"):
        return {"ok": True, "exempt": task.answer_type}
    question_text = normalise(task.question)
    # Whole words only: the answer "Ode" is not in "model".
    revealed_answers = [answer for answer in task.answers if contains_phrase(question_text, normalise(answer))]
    return {"ok": False, "given": revealed_answers} if revealed_answers else {"ok": True}
