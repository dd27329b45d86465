"""Evaluation of agents: attempts at tasks, figures with confidence intervals, and a report.

`evaluate` runs a whole evaluation; `run` makes the attempts, `summary` computes the figures, `report` renders them.
"""
