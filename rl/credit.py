"""Credit: which tool call of an attempt earned which part of its reward terms.

The terms of the finished episode are measured again as if nothing had been read after the first call, after the
second, and so on, always with the final answer and its citations. A call earns what its term gained by it: a page that
bears the answer earns the grounding, a request beyond those that the task needs loses a part of the cost. What the
answer itself is worth belongs to the last call. The parts of a term add up to its value.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from webemu.rl.ledger import find_opened_urls
from webemu.rl.record import EpisodeRecord, Progress, url_key
from webemu.rl.rewards import rubric_of
from webemu.rl.rubric import Score

log = logging.getLogger("webemu.rl")

RECALL = "recall"
"""Name of the share of evidence that was opened, which no rubric has."""
_NOTHING_READ = Progress(0, {}, ())


def credit_calls(record: EpisodeRecord, score: Score) -> list[dict[str, float]]:
    """Return for each tool call the parts of the reward terms that it earned or lost, by their names; zeros are left
    out, and a masked episode earned nothing, nor does one on which the measurement fails: the failure is logged.

        credit_calls(record, score)  # [{}, {"grounding": 1.0, "recall": 1.0}, {"answer": 1.0, "cost": 1.0, …}]
    """
    if record.masked or score.reward is None or not record.progress:
        return [{} for _ in record.progress]
    terms = {term.name: term.measure for term in rubric_of(record.task).terms if term.kind != "metric"}
    terms[RECALL] = lambda cut_record: evidence_recall(cut_record) or 0.0
    final = {**{name: score.terms.get(name) or 0.0 for name in terms}, RECALL: terms[RECALL](record)}
    try:
        values = _measure_prefixes(record, terms)
    except Exception:
        log.exception("what the calls for %s earned cannot be measured", record.task.id)
        return [{} for _ in record.progress]
    earned = [_subtract(after, before) for before, after in pairwise(values)]
    # What nothing read is worth, and what a judge added, belongs to the call that gave the answer.
    answered = _subtract(final, {name: values[-1][name] - values[0][name] for name in terms})
    earned[-1] = {name: answered[name] + earned[-1][name] for name in terms}
    return [{name: round(value, 6) for name, value in parts.items() if round(value, 6)} for parts in earned]


def evidence_recall(record: EpisodeRecord) -> float | None:
    """Return the share of evidence pages that were opened; None if the task has no evidence."""
    evidence_keys = {record.final_key(row.url) for row in record.task.evidence}
    opened_keys = {url_key(url) for url in find_opened_urls(record.requests)}
    return len(evidence_keys & opened_keys) / len(evidence_keys) if evidence_keys else None


def _measure_prefixes(
    record: EpisodeRecord, terms: Mapping[str, Callable[[EpisodeRecord], float]]
) -> Sequence[dict[str, float]]:
    """Return the terms before the first call and after each; calls that read nothing new are not measured again."""
    values, before = [_measure(record.cut_after(_NOTHING_READ), terms)], _NOTHING_READ
    for progress in record.progress:
        values.append(values[-1] if progress == before else _measure(record.cut_after(progress), terms))
        before = progress
    return values


def _measure(record: EpisodeRecord, terms: Mapping[str, Callable[[EpisodeRecord], float]]) -> dict[str, float]:
    return {name: float(measure(record)) for name, measure in terms.items()}


def _subtract(values: Mapping[str, float], subtracted: Mapping[str, float]) -> dict[str, float]:
    return {name: values[name] - subtracted[name] for name in values}
