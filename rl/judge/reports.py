"""Reports before the judge: the claims that the rules do not find in a report, and the sentences that they neither
support nor refute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from webemu.rl.judge import prompts
from webemu.rl.judge.verdicts import VerdictClient
from webemu.rl.record import EpisodeRecord
from webemu.rl.reports.assessment import AssessedStatement
from webemu.rl.reports.facts import extract_facts, is_in_text
from webemu.rl.reports.scoring import extract_claims, read_statements, states_claim
from webemu.rl.tasks import Evidence

MAX_PAGE_CHARACTERS = 24_000
"""Characters of the cited pages that the judge reads for one sentence, the parts with most of its facts first."""
COVERAGE, PRECISION = "judge_coverage", "judge_precision"
REPLACED_FACTORS = ("accuracy",)
"""Factors of `LONG` that the judge's terms replace when they are used as factors."""


async def judge_report(client: VerdictClient, record: EpisodeRecord, passes_gates: bool) -> Mapping[str, float]:
    """Return the judge's terms: those of the rules, and what the judge adds where they leave a claim open. No request
    is sent for a report that fails a gate or has no sentence (both 0).

    Raises: JudgeUnavailable or InfrastructureError.
    """
    statements = read_statements(record) if passes_gates else ()
    if not statements:
        return {COVERAGE: 0.0, PRECISION: 0.0}
    is_supported = await asyncio.gather(*(_is_supported(client, one) for one in statements))
    supported = [one for one, verdict in zip(statements, is_supported, strict=True) if verdict]
    is_covered = await asyncio.gather(
        *(_is_covered(client, claim, supported, record.task.question) for claim in extract_claims(record))
    )
    return {COVERAGE: sum(is_covered) / len(is_covered), PRECISION: sum(is_supported) / len(is_supported)}


async def _is_supported(client: VerdictClient, statement: AssessedStatement) -> bool:
    """True if the pages that a statement cites support it. Neither what the rules support or refute is asked, nor a
    statement whose pages were not shown.
    """
    if statement.status in ("borne", "refuted") or not statement.parts:
        return statement.status == "borne"
    sentence_facts = extract_facts(statement.text)
    by_relevance = sorted(
        statement.parts, key=lambda part: -sum(is_in_text((part,), [fact]) for fact in sentence_facts)
    )
    page = "\n\n".join(by_relevance)[:MAX_PAGE_CHARACTERS]
    return await client.ask(prompts.ask_supported(page, statement.text))


async def _is_covered(
    client: VerdictClient, claim: Evidence, supported: Sequence[AssessedStatement], question: str
) -> bool:
    """True if a supported statement states a claim. The judge is asked if the rules find none."""
    if any(states_claim(one, claim, question) for one in supported if one.status == "borne"):
        return True
    if not supported:
        return False
    report = "\n".join(f"({number}) {' '.join(one.text.split())}" for number, one in enumerate(supported, 1))
    numbers = await client.ask(prompts.ask_stated(report, f"{claim.value}\n{claim.quote}".strip()))
    return any(1 <= number <= len(supported) for number in numbers)
