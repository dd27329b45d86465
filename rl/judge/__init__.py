"""LLM judge where the rules end: `Judge` decides what they leave open, and nothing else. Off by default.

`decision` says what is open, `prompts` and `verdicts` ask a model over HTTP, `answers` and `reports` put its verdicts
into the score, `agreement` and `labels` measure the judge itself.
"""

from webemu.rl.judge.judge import Judge, score_with_judge

__all__ = ["Judge", "score_with_judge"]
