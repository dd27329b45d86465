"""Scores of episodes, the same wherever they are played: by the rules, and by a judge where they leave something open.

Training and all adapters score here; evaluation asks the same `Judge`. A judge runs on an event loop of its own thread,
so that code with and without a loop shares its verdicts. Without a judge nothing is started.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import cache

from webemu.rl.judge.decision import decide
from webemu.rl.judge.judge import Judge
from webemu.rl.judge.spec import JudgeSpec, open_judge
from webemu.rl.record import EpisodeRecord
from webemu.rl.rewards import rubric_of
from webemu.rl.rubric import Score

_OPENING = threading.Lock()
"""Lock for opening a judge, so that threads that score their first episodes at the same time share one."""
AGREES = "judge_agrees"
"""Term of an answer that the rules decide and that the judge was asked about: 1 if both say the same."""


def score_episode(record: EpisodeRecord, judge: JudgeSpec | None = None) -> Score:
    """Return the score of an episode. With a judge, this thread waits for its verdicts.

    score = score_episode(episode.record())

    Raises: EndpointError or ValueError if the judge's address or key is wrong; one that fails to answer masks.
    """
    return score_episodes([record], judge)[0]


def score_episodes(records: Sequence[EpisodeRecord], judge: JudgeSpec | None = None) -> list[Score]:
    """Return the scores of episodes in order. A judge is asked about all of them concurrently, and about some answers
    that the rules decide (`JudgeSpec.compare`).
    """
    if judge is None:
        return [rubric_of(record.task).score(record) for record in records]
    thread = _judge_thread(judge)
    begun_scores = [thread.begin(record) for record in records]
    begun_verdicts = {number: thread.begin_question(records[number]) for number in _choose_decided(records, judge)}
    scores = [future.result() for future in begun_scores]
    for number, future in begun_verdicts.items():
        if (verdict := future.result()) is not None:
            is_right = decide_by_rules(records[number])
            scores[number] = replace(scores[number], terms={**scores[number].terms, AGREES: float(verdict == is_right)})
    return scores


async def score_episode_async(record: EpisodeRecord, judge: JudgeSpec | None = None) -> Score:
    """Return the score of an episode without blocking the running event loop while a judge answers."""
    if judge is None:
        return rubric_of(record.task).score(record)
    return await asyncio.wrap_future(_judge_thread(judge).begin(record))


@dataclass(frozen=True, slots=True)
class JudgeCounts:
    """Counts of a judge since its first episode in this process."""

    requests: int
    """Questions that were sent; those answered from the cache are not."""
    failures: Mapping[str, int]
    """Episodes and questions without a verdict, by reason."""


def count_judge(judge: JudgeSpec) -> JudgeCounts:
    """Return the counts of a judge in this process."""
    used = _judge_thread(judge).judge
    return JudgeCounts(used.request_count, Counter(used.failures))


def decide_by_rules(record: EpisodeRecord) -> bool | None:
    """Return whether the rules find a short answer right; None if they leave it open, or there is no short answer."""
    task = record.task
    if record.masked or not record.answer.strip() or task.answer_type in ("none", "url", "choice", "report"):
        return None
    decision = decide(
        record.answer, task.answers, task.answer_type, task.question, [row.quote for row in task.evidence]
    )
    return None if decision == "open" else decision == "right"


def _choose_decided(records: Sequence[EpisodeRecord], judge: JudgeSpec) -> list[int]:
    """Return the numbers of the first episodes with a right answer, and with a wrong one, that are put to the judge."""
    numbers: dict[bool, list[int]] = {True: [], False: []}
    for number, record in enumerate(records if judge.compare else ()):
        is_right = decide_by_rules(record)
        if is_right is not None and len(numbers[is_right]) < judge.compare:
            numbers[is_right].append(number)
    return numbers[True] + numbers[False]


class _JudgeThread:
    """Judge on an event loop of its own thread."""

    def __init__(self, spec: JudgeSpec) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True, name="webemu-judge").start()
        self.judge = asyncio.run_coroutine_threadsafe(self._open(spec), self._loop).result()

    def begin(self, record: EpisodeRecord) -> Future[Score]:
        """Begin to score an episode."""
        return asyncio.run_coroutine_threadsafe(self.judge.score(record), self._loop)

    def begin_question(self, record: EpisodeRecord) -> Future[bool | None]:
        """Begin to ask about an answer, whatever the rules say of it."""
        return asyncio.run_coroutine_threadsafe(self.judge.is_equivalent(record.task, record.answer), self._loop)

    async def _open(self, spec: JudgeSpec) -> Judge:
        # Open until the process ends: other episodes may need it at any time.
        return await AsyncExitStack().enter_async_context(open_judge(spec))


def _judge_thread(spec: JudgeSpec) -> _JudgeThread:
    with _OPENING:
        return _open_judge_thread(spec)


@cache
def _open_judge_thread(spec: JudgeSpec) -> _JudgeThread:
    return _JudgeThread(spec)


os.register_at_fork(after_in_child=_open_judge_thread.cache_clear)  # a thread does not survive a fork
