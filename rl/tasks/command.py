"""The command `webemu tasks`: makes tasks, audits a user's own questions, cuts collections to fit them."""

from __future__ import annotations

import typer

from webemu.rl.tasks.audit_command import audit_questions
from webemu.rl.tasks.build_command import build_tasks
from webemu.rl.tasks.subset_command import make_subset

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Make tasks with known answers, audit your own questions, and cut collections to fit them.",
)
app.command("build")(build_tasks)
app.command("audit")(audit_questions)
app.command("subset")(make_subset)
