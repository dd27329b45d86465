"""Retrieval baseline without a model: searches for the question once, reads the first page and gives an answer."""

from __future__ import annotations

from webemu.rl.policies import observation_parsing, question_search, reader
from webemu.rl.policies.attempt import Attempt
from webemu.rl.views import strip_link_numbers


async def play_rag(attempt: Attempt) -> None:
    """Play an attempt with one search and one page."""
    hits = await question_search.search_question(attempt)
    answer = ""
    if hits:
        opened = await attempt.act("open", link=hits[0].link)
        if opened.kind == "page":
            answer = reader.extract_answer(
                attempt.question,
                strip_link_numbers(observation_parsing.parse_page_text(opened.text)),
            )
    citations = [hits[0].link] if answer else []
    await attempt.act("finish", answer=answer or "not found", citations=citations)
