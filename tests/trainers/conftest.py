"""The world of tests/rl and a toy web, for what needs a trainer."""

from tests.rl.conftest import root, world
from tests.train.toy import toy

__all__ = ["root", "toy", "world"]
