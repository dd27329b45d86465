"""Whether a question can be asked of somebody who has no page in front of them, and does not give its answer away."""

from __future__ import annotations

import re

from webemu.rl.gates import contains_phrase
from webemu.rl.tasks.filters.filter import Means, Verdict
from webemu.rl.tasks.phrases import MARK, content, unquoted
from webemu.rl.tasks.task import Task
from webemu.rl.verify import normalise

_THINGS = (
    r"(?:web ?page|web ?site|page|site|article|text|passage|excerpt|paragraph|section|chapter|document|table|figure"
    r"|list|entry|post|snippet|example|author|source|image|picture|diagram|infobox)"
)
_LEANS = (
    rf"\b(?:this|these|that|the (?:given|present|current|above|below|following|provided|same)) (?:\w+ )?{_THINGS}s?\b"
    rf"(?! ?{MARK})",
    rf"\b(?:according to|in|on|from|by) the {_THINGS}\b"
    rf"(?! (?:of|on|about|for|titled|called|named|that|which|at|behind|from|by|to)\b| ?{MARK})",
    r"\bthe following\b|\bas follows\b|\baforementioned\b|\babove[- ]mentioned\b|\bthe (?:former|latter)\b",
    r"\b(?:listed|shown|given|stated|noted|described|mentioned|quoted|discussed|defined)"
    r" (?:here|above|below|earlier)\b",
    r"^(?:(?:in|on|at|by|for|from|to|of|with) )?(?:who|whom|whose|what|when|where|which|why|how)(?: \w+){0,2}?"
    r" (?:is|are|was|were|does|do|did|has|have|had|can|could|will|would)"
    r" (?:he|she|it|they|this|these|those|his|her|its|their)\b(?! (?:that|possible|to)\b)",
    r"^(?:who|what|which) \w+ (?:him|her|it|them|this|these|those|his|its|their)\s*\?",
    r"\b(?:yesterday|tomorrow|(?:this|last|next) (?:week|month|year|season|night))\b",
    r"\{\w*\}|\bnull\b|\bundefined\b|\bNaN\b",
)
_LEANING = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _LEANS)
FEWEST = 2
"""Words that mean something."""


async def self_contained(task: Task, means: Means) -> Verdict:
    """Leans on no page (`this page`, `above`), opens with no dangling pronoun, names something."""
    found = leans(task.question)
    return {"ok": False, "leans": found} if found else {"ok": True}


def leans(question: str) -> str:
    """What of a question leans on a page that nobody shows; empty where nothing does."""
    asked = " ".join(unquoted(question).split())
    found = next((match[0] for pattern in _LEANING if (match := pattern.search(asked))), "")
    return found or ("" if len(content(question)) >= FEWEST else question)


async def not_given_away(task: Task, means: Means) -> Verdict:
    """No accepted answer stands in the question; a choice names its options."""
    if task.answer_type in ("choice", "none", "report"):
        return {"ok": True, "exempt": task.answer_type}
    asked = normalise(task.question)
    given = [answer for answer in task.answers if contains_phrase(asked, normalise(answer))]
    return {"ok": False, "given": given} if given else {"ok": True}
