"""Agent policies: models, and baselines without a model to compare them with.

A policy takes an `Attempt` and plays it to its end. All but the oracle use only the question and what was shown.
"""

from webemu.rl.policies.attempt import AgentPolicy, Attempt, Step, Turn

__all__ = ["AgentPolicy", "Attempt", "Step", "Turn"]
