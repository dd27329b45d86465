"""Tenants: several servers with keys, quotas and collections of their own, in the tables `[tenants.NAME]` of one file.

    [tenants.red]
    port = 8811
    collection = "news"
    api_keys = "key-of-red"

Each tenant is served by processes of its own, so that no request of one can reach what belongs to another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias

from webemu.emulator.errors import BadRequest
from webemu.emulator.listener_policies import parse_listeners

TABLE = "tenants"
"""Name of the table of tables in `webemu.toml`."""
NO_TENANT = "none"
"""Value of the setting `tenant` for the settings outside the tables."""
Settings: TypeAlias = Mapping[str, object]
"""Settings by name, as TOML has them."""


def parse_tenants(path: Path, table: object, setting_names: Collection[str]) -> dict[str, Settings]:
    """Return the settings of each tenant by name.

    Raises BadRequest, which names the file and the tenant, if a setting is unknown, or if tenants are not apart: each
    needs `api_keys` that no other accepts, an `admin_token` that is its own if it has one, and a `port` of its own.
    """
    if not isinstance(table, dict) or not all(isinstance(one, dict) for one in table.values()):
        raise BadRequest(f"{path}: {TABLE} must be tables", action="write them as [tenants.NAME]")
    for name, settings in table.items():
        _check_settings(path, name, settings, setting_names)
    for setting, read in _APART.items():
        _check_apart(path, setting, {name: read(one[setting]) for name, one in table.items() if setting in one})
    return dict(table)


def choose_tenant(path: Path, tenants: Mapping[str, Settings], name: str) -> Settings:
    """Return the settings of a tenant. Raises BadRequest if there is none of this name."""
    if name not in tenants:
        known_names = ", ".join(tenants) or "none"
        raise BadRequest(f"{path} has no tenant {name!r}", action=f"the tenants of the file are: {known_names}")
    return tenants[name]


def _split_keys(text: object) -> set[object]:
    """Return the API keys of a tenant; empty if it has none, or accepts any."""
    keys = {key.strip() for key in str(text).split(",")} - {""}
    return set() if "any" in keys else {*keys}


def _resolve(text: object) -> set[object]:
    """Return a path in the one form that all ways of writing it share; empty for none."""
    return set() if text == "none" else {Path(str(text)).resolve()}


_APART: Mapping[str, Callable[[object], set[object]]] = {
    "port": lambda port: {port},
    "api_keys": _split_keys,
    "admin_token": lambda token: set() if token == "none" else {token},
    "listen": lambda text: {listener.key for listener in parse_listeners(str(text))},
    "uds": _resolve,
    "state": _resolve,
}
"""Settings whose values no two tenants may share, with the function that lists these values."""


def _check_settings(path: Path, name: str, settings: Settings, setting_names: Collection[str]) -> None:
    """Raise BadRequest for a setting that does not exist or is missing in a tenant's table."""
    if unknown := sorted(settings.keys() - {*setting_names} | settings.keys() & {"tenant"}):
        similar = get_close_matches(unknown[0], setting_names, 1)
        hint = f"; did you mean {similar[0]}?" if similar and similar != unknown[:1] else ""
        raise BadRequest(
            f"{path}: tenant {name} has the unknown settings {', '.join(unknown)}{hint}",
            action=f"the settings are {', '.join(setting_names)}",
        )
    if "port" not in settings or not _split_keys(settings.get("api_keys", "any")):
        raise BadRequest(
            f"{path}: tenant {name} needs a port, and api_keys that are not `any`: others could pass for it",
            action="give it a port and a key of its own",
        )


def _check_apart(path: Path, setting: str, values_by_tenant: Mapping[str, set[object]]) -> None:
    """Raise BadRequest if two tenants share a value of a setting."""
    owners: dict[object, str] = {}
    for tenant, values in values_by_tenant.items():
        for value in values:
            if other := owners.get(value):
                raise BadRequest(
                    f"{path}: the tenants {other} and {tenant} have the same {setting}",
                    action="give each tenant one of its own",
                )
            owners[value] = tenant
