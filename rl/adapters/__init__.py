"""One environment for every trainer: each module puts an episode behind one trainer's interface (docs/trainers.md).

No adapter has tools, observations or rewards of its own; all come from `webemu.rl.environment` and
`webemu.rl.rewards`. A module imports its trainer, so import only the ones whose trainer is installed.
"""
