"""The public names are what the package says they are."""

from __future__ import annotations

import types

from webemu import agent_client


def test_all_names_exist_and_nothing_else_is_public() -> None:
    public = {
        name
        for name, value in vars(agent_client).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert public == set(agent_client.__all__)


def test_names_are_sorted_as_ruff_sorts_them() -> None:
    assert len(agent_client.__all__) == len(set(agent_client.__all__))
