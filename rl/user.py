"""The scripted user: knows what the question left out, and says it to whoever asks for it."""

from __future__ import annotations

from webemu.rl.gates import holds
from webemu.rl.tasks import Reply
from webemu.rl.verify import normalise

NO_HELP = "I cannot say more about that."


def reply(question: str, known: tuple[Reply, ...]) -> str:
    """The first reply one of whose words stands in the question, upper and lower case alike."""
    asked = normalise(question)
    return next((one.says for one in known if any(holds(asked, normalise(word)) for word in one.words)), NO_HELP)
