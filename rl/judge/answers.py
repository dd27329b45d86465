"""Short answers before the judge: which questions an open answer raises, and what its verdicts are worth.

An answer that a judge finds equivalent is scored as the accepted answer would be, so grounding, gates and cost stay
with the rules. A cited page that only its words speak for, and no evidence of the task, must convince the judge too.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from webemu.rl.evidence import is_supported_by, is_vouched_for
from webemu.rl.grounding import find_places
from webemu.rl.judge import prompts
from webemu.rl.judge.decision import decide
from webemu.rl.judge.verdicts import JudgeUnavailable, VerdictClient
from webemu.rl.passages import split_passages
from webemu.rl.probe import build_swap
from webemu.rl.record import EpisodeRecord
from webemu.rl.rewards import MAX_CITATIONS, SHORT
from webemu.rl.rubric import Score
from webemu.rl.swap import WordSwap
from webemu.rl.tasks import Task
from webemu.rl.verify import normalise

OPEN, EQUIVALENT, SUPPORTED = "judge_open", "judge_equivalent", "judge_supported"
"""Terms of short answers: 1 if the rules leave the answer open; the verdicts on it and on its pages, if it is."""
MAX_PLACES = 5
"""Places of a page with the accepted answer that the judge reads, each with its neighbours."""
REMOVED = "(left out)"
"""Text in place of the accepted answer in the page of the control question."""


@dataclass(frozen=True, slots=True)
class OpenAnswer:
    """Answer that only a judge can decide."""

    record: EpisodeRecord
    best_score: Score
    """Score of the same episode with the accepted answer: the most that a judge can grant."""


def find_open(record: EpisodeRecord) -> OpenAnswer | None:
    """Return an answer that the rules leave open; None if they decide it, or if no verdict could make it earn, as
    without grounding.
    """
    task = record.task
    quotes = [row.quote for row in task.evidence]
    if record.masked or decide(record.answer, task.answers, task.answer_type, task.question, quotes) != "open":
        return None
    best_score = SHORT.score(_with_accepted_answer(record))
    return OpenAnswer(record, best_score) if best_score.reward else None


async def judge_answer(client: VerdictClient, open_answer: OpenAnswer) -> Score:
    """Return the score of an open answer by the judge's verdicts, with the terms `judge_equivalent` and, if pages had
    to be judged, `judge_supported`.

    Raises: JudgeUnavailable or InfrastructureError.
    """
    record, best_score = open_answer.record, open_answer.best_score
    if not await is_equivalent_by_judge(client, record.task, record.answer):
        score = SHORT.score(record)
        return replace(score, terms={**score.terms, EQUIVALENT: 0.0})
    accepted, cited = _with_accepted_answer(record), record.citations[:MAX_CITATIONS]
    borne = [one for one in cited if is_supported_by(accepted, one)]
    doubtful = [one for one in borne if not is_vouched_for(accepted, one)]
    verdicts = await asyncio.gather(*(_is_borne_by_judge(client, record, one) for one in doubtful))
    # The rubric of the best score is a product, so a factor is exchanged by its ratio.
    ratio = 1 - verdicts.count(False) / len(borne) if borne else 1.0
    terms = {**best_score.terms, "f1": SHORT.score(record).terms["f1"], EQUIVALENT: 1.0}
    terms["grounding"] = (terms["grounding"] or 0.0) * ratio
    if verdicts:
        terms[SUPPORTED] = sum(verdicts) / len(verdicts)
    return Score((best_score.reward or 0.0) * ratio, terms)


async def is_equivalent_by_judge(client: VerdictClient, task: Task, answer: str) -> bool:
    """Return the judge's verdict on an answer to a task. Raises: JudgeUnavailable or InfrastructureError."""
    source = next((row.quote for row in task.evidence if row.quote and row.value in task.answers), "")
    return await client.ask(prompts.ask_equivalent(task.question, task.answers, answer, source))


async def _is_borne_by_judge(client: VerdictClient, record: EpisodeRecord, citation: str) -> bool:
    """Return the judge's verdict on a page. The same page without the answer must not convince it (the swap probe).

    Raises: JudgeUnavailable if it does, or InfrastructureError.
    """
    task = record.task
    page = _excerpt(record, citation)
    swapped = WordSwap(build_swap(task, REMOVED)).replace_words(page)
    control_page = swapped if swapped != page else record.title_of(citation)
    verdict, control = await asyncio.gather(
        *(client.ask(prompts.ask_bearing(task.question, task.answers[0], text)) for text in (page, control_page))
    )
    if verdict and control:
        raise JudgeUnavailable("supported without evidence")
    return verdict


def _excerpt(record: EpisodeRecord, citation: str) -> str:
    """Return the title of a page and the places with the accepted answer, each with its heading and neighbours."""
    lines: dict[str, None] = {}
    for part in record.shown_parts_of(citation):
        passages = split_passages(part)
        places = [place for gold in record.task.answers for place in find_places(passages, normalise(gold))]
        for place in places[:MAX_PLACES]:
            lines |= dict.fromkeys(
                (passages[place].heading, *(p.text for p in passages[max(0, place - 1) : place + 2]))
            )
    return "\n".join(filter(None, (record.title_of(citation), *lines)))


def _with_accepted_answer(record: EpisodeRecord) -> EpisodeRecord:
    return replace(record, answer=record.task.answers[0])
