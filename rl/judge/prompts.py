"""Questions to the judge. Questions, answers and pages are delimited as data, since each may try to instruct it.

The questions about reports follow CaRR (arXiv 2601.06021).
"""

from __future__ import annotations

from collections.abc import Sequence

from webemu.rl.judge.verdicts import Inquiry, parse_numbers, parse_truth
from webemu.rl.sanitizing import delimit

EQUIVALENT = """A question:

{question}

An accepted answer, with the text that it was taken from if there is any:

{accepted}

An answer to check:

{answer}

Does the answer say the same thing as the accepted answer, in whatever words? It does if a reader of the question would
learn the same from both: another name, spelling, translation or description of the same thing is the same, and so are
true details beside it. It does not if it means another person, place, thing, number or date, if it is vaguer than the
accepted answer, or if it leaves open which of several answers is meant.
{{"equivalent": true}} or {{"equivalent": false}}"""
"""Prompt that asks whether two answers say the same."""
BEARING = """A question:

{question}

An answer to it:

{answer}

Text that a reader saw of a page:

{page}

Does this text alone tell a reader that this is the answer to this question? It does not if it only contains the words
of the answer, speaks of something else, or denies it.
{{"supported": true}} or {{"supported": false}}"""
"""Prompt that asks whether a page bears an answer."""
STATED = """A report:

{report}

A fact, with the sentence that it was taken from:

{fact}

Which sentences of the report, by their numbers in brackets, state this fact? A sentence states it if a reader would
learn it from that sentence, in whatever words; not if it denies or changes it.
{{"sentences": [numbers]}}, or {{"sentences": []}} if none does."""
"""Prompt that asks which sentences of a report state a fact."""
SUPPORTED = """Text that a reader saw of the pages that a sentence cites:

{page}

The sentence:

{sentence}

Does this text alone bear out everything that the sentence says?
{{"supported": true}} or {{"supported": false}}"""
"""Prompt that asks whether the text of the cited pages supports a sentence."""


def ask_equivalent(question: str, accepted: Sequence[str], answer: str, source: str = "") -> Inquiry[bool]:
    """Return the question whether an answer says the same as an accepted one. `source` is the text that states it."""
    accepted_text = "\n".join((" / ".join(accepted), source)).strip()
    prompt = EQUIVALENT.format(**_delimit_all(question=question, accepted=accepted_text, answer=answer))
    return Inquiry(prompt, "equivalent", parse_truth)


def ask_bearing(question: str, answer: str, page: str) -> Inquiry[bool]:
    """Return the question whether the text of a page bears an answer."""
    prompt = BEARING.format(**_delimit_all(question=question, answer=answer, page=page))
    return Inquiry(prompt, "supported", parse_truth)


def ask_stated(report: str, fact: str) -> Inquiry[list[int]]:
    """Return the question which sentences of a report state a fact."""
    return Inquiry(STATED.format(**_delimit_all(report=report, fact=fact)), "sentences", parse_numbers)


def ask_supported(page: str, sentence: str) -> Inquiry[bool]:
    """Return the question whether the text of pages supports a sentence."""
    return Inquiry(SUPPORTED.format(**_delimit_all(page=page, sentence=sentence)), "supported", parse_truth)


def _delimit_all(**texts: str) -> dict[str, str]:
    """Return the texts of a question between markers. The markers depend on all texts, so that none can forge those
    of another.
    """
    secret = "\0".join(texts.values())
    return {label: delimit(label, text, f"{label}\0{secret}") for label, text in texts.items()}
