"""The world of tests/rl, for adapters whose trainers are installed."""

from tests.rl.conftest import root, world

__all__ = ["root", "world"]
