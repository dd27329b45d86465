"""One environment, every trainer: each module puts an episode behind one trainer's interface (docs/trainers.md).

None has tools, observations or rewards of its own. A module is loaded by whoever has its trainer installed.
"""
