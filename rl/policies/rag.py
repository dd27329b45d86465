"""Retrieval baseline without a model: searches for the question once, reads the first page and gives an answer."""

from __future__ import annotations

from webemu.rl.policies import observation_parsing, question_search, reader
from webemu.rl.policies.attempt import Attempt


async def rag(attempt: Attempt) -> None:
    """Play an attempt with one search and one page."""
    found = await question_search.results(attempt)
    answer = ""
    if found:
        opened = await attempt.act("open", link=found[0][0])
        if opened.kind == "page":
            answer = reader.answer(attempt.question, observation_parsing.plain(observation_parsing.page(opened.text)))
    cited = [found[0][0]] if answer else []
    await attempt.act("finish", answer=answer or "not found", citations=cited)
