"""Short answers, judged as people judge them: `is_equivalent`."""

from webemu.rl.answers.equivalence import is_equivalent

__all__ = ["is_equivalent"]
