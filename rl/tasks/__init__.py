"""Tasks for search agents: questions with known answers, and the ways to make them.

The names exported here need neither a crawl nor a server. `webemu.rl.tasks.build` makes tasks from recipes.
"""

from webemu.rl.tasks.task import (
    NOT_FOUND,
    AnswerType,
    Evidence,
    Reply,
    Task,
    TaskError,
    load,
    parse_task,
    save,
    to_json_line,
)

__all__ = [
    "NOT_FOUND",
    "AnswerType",
    "Evidence",
    "Reply",
    "Task",
    "TaskError",
    "load",
    "parse_task",
    "save",
    "to_json_line",
]
