"""Tasks: what they are, and where they come from. What is exported here needs no crawl and no server."""

from webemu.rl.tasks.task import NOT_FOUND, AnswerType, Evidence, Reply, Task, TaskError, from_row, line, load, save

__all__ = ["NOT_FOUND", "AnswerType", "Evidence", "Reply", "Task", "TaskError", "from_row", "line", "load", "save"]
