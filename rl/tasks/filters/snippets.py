"""Filter against questions that a list of results answers: then nobody has to open a page."""

from __future__ import annotations

from webemu.rl.gates import contains_answer
from webemu.rl.tasks.filters.filter import FilterContext, Verdict, undecided
from webemu.rl.tasks.task import Task

RESULTS_READ = 5
"""Number of results of the question itself whose titles and snippets are read."""


async def check_not_in_snippets(task: Task, context: FilterContext) -> Verdict:
    """Reject a task if the title or snippet of one of the first results has an accepted answer.

    Only recipes in `context.needs_opening` are judged: others ask for pages, or are easy on purpose.
    """
    if task.recipe not in context.needs_opening or task.answer_type in ("choice", "none", "report"):
        return undecided("not checked for this recipe")
    # A number that is computed stands in a snippet only by chance.
    if not any(contains_answer(one.quote, answer) for one in task.evidence for answer in task.answers):
        return {"ok": True, "exempt": "computed"}
    for hit in (await context.web.search(task.question))[:RESULTS_READ]:
        if any(contains_answer(f"{hit.title}\n{hit.snippet}", answer) for answer in task.answers):
            return {"ok": False, "url": hit.url}
    return {"ok": True}
