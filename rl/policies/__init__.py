"""Who answers tasks: models, and policies without one to compare them with.

A policy is given an `Attempt` and plays it to its end. All but the oracle know only the question and what was shown.
"""

from webemu.rl.policies.attempt import Attempt, Policy, Step, Turn

__all__ = ["Attempt", "Policy", "Step", "Turn"]
