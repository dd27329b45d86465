"""Judge of episodes: short answers and reports that the rules leave open, by a model behind an OpenAI-compatible
endpoint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from webemu.agent_client.errors import InfrastructureError
from webemu.rl.judge import answers, reports
from webemu.rl.judge.verdicts import MAX_CONCURRENT_REQUESTS, Inquiry, JudgeUnavailable, VerdictClient
from webemu.rl.record import EpisodeRecord
from webemu.rl.rewards import LONG, SHORT
from webemu.rl.rubric import Score
from webemu.rl.tasks import Task

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint

NO_VERDICT = "judge: no verdict"
"""Mask of an episode whose judge failed."""


class Judge:
    """LLM judge for any number of episodes on one event loop. The same question is asked only once.

    async with Endpoint("http://127.0.0.1:8000/v1", "Qwen/Qwen3-8B") as endpoint:
        score = await Judge(endpoint, as_factors=True).score(record)
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        as_factors: bool = False,
        max_concurrent: int = MAX_CONCURRENT_REQUESTS,
        cache: Path | None = None,
    ) -> None:
        """Prepare a judge; nothing is sent. With `as_factors` its verdicts count in the reward, and its failure masks
        the episode; otherwise they are only logged. At most `max_concurrent` requests run at the same time. Verdicts
        are kept in the file `cache`, if there is one.
        """
        self._client, self._as_factors = VerdictClient(endpoint, max_concurrent, cache), as_factors
        self.failures: Counter[str] = Counter()
        """Number of episodes and questions without a verdict, by reason."""

    @property
    def request_count(self) -> int:
        """Number of questions that were sent."""
        return self._client.request_count

    async def score(self, record: EpisodeRecord) -> Score:
        """Return the rubric's score with the judge's terms; those of a judge that failed are None.

        Short answers get `judge_open`, and `judge_equivalent` and `judge_supported` if they are open; reports get
        `judge_coverage` and `judge_precision`.
        """
        if record.task.answer_type == "report":
            return await self._score_report(record)
        return await self._score_answer(record)

    async def is_equivalent(self, task: Task, answer: str) -> bool | None:
        """Return the verdict on an answer, whatever the rules say of it; None if the judge fails."""
        try:
            return await answers.is_equivalent_by_judge(self._client, task, answer)
        except (JudgeUnavailable, InfrastructureError) as error:
            self._count_failure(error)
            return None

    async def ask(self, inquiry: Inquiry[bool]) -> bool | None:
        """Return the verdict on a question of `webemu.rl.judge.prompts`; None if the judge fails."""
        try:
            return await self._client.ask(inquiry)
        except (JudgeUnavailable, InfrastructureError) as error:
            self._count_failure(error)
            return None

    async def _score_answer(self, record: EpisodeRecord) -> Score:
        score, open_answer = SHORT.score(record), answers.find_open(record)
        if open_answer is None:
            return replace(score, terms={**score.terms, answers.OPEN: None if record.masked else 0.0})
        try:
            judged = await answers.judge_answer(self._client, open_answer)
        except (JudgeUnavailable, InfrastructureError) as error:
            self._count_failure(error)
            terms = {**score.terms, answers.OPEN: 1.0, answers.EQUIVALENT: None}
            return Score(None, terms, NO_VERDICT) if self._as_factors else replace(score, terms=terms)
        if self._as_factors:
            return replace(judged, terms={**judged.terms, answers.OPEN: 1.0})
        verdicts = {name: value for name, value in judged.terms.items() if name not in score.terms}
        return replace(score, terms={**score.terms, answers.OPEN: 1.0, **verdicts})

    async def _score_report(self, record: EpisodeRecord) -> Score:
        score = LONG.score(record)
        terms = await self._judge_report(record, score)
        merged = replace(score, terms={**score.terms, **terms})
        if not self._as_factors or score.reward is None:
            return merged
        if None in terms.values():
            return replace(merged, reward=None, mask=NO_VERDICT)
        factor_names = [
            term.name for term in LONG.terms if term.kind != "metric" and term.name not in reports.REPLACED_FACTORS
        ]
        return replace(merged, reward=prod(float(merged.terms[name] or 0) for name in (*factor_names, *terms)))

    async def _judge_report(self, record: EpisodeRecord, score: Score) -> Mapping[str, float | None]:
        """Return the judge's terms of a report; None for each if the episode is masked or the judge fails."""
        unknown: Mapping[str, float | None] = dict.fromkeys((reports.COVERAGE, reports.PRECISION))
        if record.masked:
            return unknown
        passes_gates = all(score.terms[term.name] for term in LONG.terms if term.kind == "gate")
        try:
            return await reports.judge_report(self._client, record, passes_gates)
        except (JudgeUnavailable, InfrastructureError) as error:
            self._count_failure(error)
            return unknown

    def _count_failure(self, error: JudgeUnavailable | InfrastructureError) -> None:
        self.failures[error.reason or "failed"] += 1


async def score_with_judge(record: EpisodeRecord, endpoint: Endpoint, *, as_factors: bool = False) -> Score:
    """Return the score of one episode from a judge of its own. Use one `Judge` for several episodes, so that it can
    cache.

        score = await score_with_judge(record, endpoint)
    """
    return await Judge(endpoint, as_factors=as_factors).score(record)
