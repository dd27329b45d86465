"""Retrieval, once: the question is the query, the first page is read, and an answer is given. No second look."""

from __future__ import annotations

from webemu.rl.policies import reader, searching, seen
from webemu.rl.policies.attempt import Attempt


async def rag(attempt: Attempt) -> None:
    found = await searching.results(attempt)
    answer = ""
    if found:
        opened = await attempt.act("open", link=found[0][0])
        if opened.kind == "page":
            answer = reader.answer(attempt.question, seen.plain(seen.page(opened.text)))
    cited = [found[0][0]] if answer else []
    await attempt.act("finish", answer=answer or "not found", citations=cited)
