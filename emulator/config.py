"""The settings of one run: a TOML file, then `WEBEMU_*`, then flags. Passed as an argument, never read at import."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from webemu.emulator.errors import BadRequest
from webemu.emulator.logs import FORMS

COLLECTION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
PREFIX = "WEBEMU_"
OTHER_VARIABLES = frozenset(
    {
        *("WEBEMU_CONFIG", "WEBEMU_SERVER", "WEBEMU_TRACEBACK"),  # of the command line
        "WEBEMU_BIND",  # of deploy/haproxy.cfg, beside WEBEMU_COPY_1 and so on
        *("WEBEMU_ARTIFACTS", "WEBEMU_DEMO_TEST", "WEBEMU_KILLS", "WEBEMU_KILL_TEST", "WEBEMU_SHARED"),  # of the tests
        *("WEBEMU_CHAIN_CASES", "WEBEMU_CHAIN_SEED"),
    }
)
"""Variables that begin with the prefix and are no settings; any further one is taken for a misspelled setting."""
WEB_PORTS = re.compile(r"none||[0-9]{1,5}(\s*,\s*[0-9]{1,5})*")


@dataclass(frozen=True, slots=True)
class Config:
    """One run's settings; every field is also `WEBEMU_<FIELD>` in the environment and a key of `webemu.toml`."""

    root: Path = Path("webemu-data")
    """Folder that holds the collections."""
    collection: str = "default"
    """Which collection is worked on."""
    host: str = "127.0.0.1"
    """Address the server binds to."""
    port: int = 8800
    """Port the server binds to."""
    web_ports: str = "none"
    """Further TCP ports that lead to the same server, such as `80,443`."""
    uds: str = "none"
    """Unix domain socket on which the server also listens, for clients on the same machine: a path."""
    dns_port: int = 0
    """Port on which DNS leads every known name to the server, UDP and TCP; 0 is off."""
    workers: int = 1
    """Processes that serve or ingest."""
    cache_mb: int = 64
    """Memory for rendered answers and work that sessions share, per serving process, in MB."""
    compress: int = 0
    """Answers of the API of so many bytes or more are sent in gzip to who takes that; 0 is none."""
    api_keys: str = "any"
    """Keys that the vendors' APIs take, with commas between them; any key, and none, unless some are given."""
    state: str = "none"
    """Folder for the ledger of sessions and for traces, where the root is read-only; none is the root."""
    log_format: str = "text"
    """Form of the server's log on standard error: text, or json, an object a line."""
    slow_ms: int = 1000
    """Requests that take longer are logged, in milliseconds; 0 is none."""

    def __post_init__(self) -> None:
        if not COLLECTION_NAME.fullmatch(self.collection):
            raise BadRequest(
                f"collection name {self.collection!r} is not usable as a folder name",
                action="use letters, digits, '.', '_' and '-' (at most 64)",
            )
        for name, port in [("port", self.port), ("dns_port", self.dns_port)]:
            if not 0 <= port <= 65_535:
                raise BadRequest(f"{name} must be between 0 and 65535, got {port}", action=f"give {name} such a number")
        if not WEB_PORTS.fullmatch(self.web_ports) or any(port > 65_535 for port in self.further_ports):
            raise BadRequest(
                f"web_ports must be numbers between 0 and 65535, got {self.web_ports!r}",
                action="put commas between them: 80,443",
            )
        for name, number, least in [
            ("workers", self.workers, 1),
            ("slow_ms", self.slow_ms, 0),
            ("compress", self.compress, 0),
        ]:
            if number < least:
                raise BadRequest(f"{name} must be {least} or more, got {number}", action=f"give {name} such a number")
        if self.log_format not in FORMS:
            raise BadRequest(
                f"log_format must be one of {', '.join(FORMS)}, got {self.log_format!r}", action="choose one of them"
            )

    @property
    def keys(self) -> frozenset[str]:
        """`api_keys`, one by one; empty if any will do."""
        given = (key.strip() for key in self.api_keys.split(","))
        return frozenset() if self.api_keys == "any" else frozenset(key for key in given if key)

    @property
    def folder(self) -> Path:
        """Where the collection rests."""
        return self.root / self.collection

    @property
    def socket_path(self) -> Path | None:
        """`uds` as a path; None if there is to be none."""
        return Path(self.uds) if self.uds not in ("", "none") else None

    @property
    def written(self) -> Path:
        """Where the server writes what sessions of the collection did."""
        return self.folder if self.state == "none" else Path(self.state) / self.collection

    @property
    def further_ports(self) -> tuple[int, ...]:
        """`web_ports` as numbers."""
        return tuple(int(digits) for digits in re.findall("[0-9]+", self.web_ports))


def load(flags: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Config:
    """Return the config of `webemu.toml` (or the file `WEBEMU_CONFIG` names), the environment, and flags unless None.

    Raises BadRequest, which names the file, the variable or the flag.
    """
    environ = os.environ if environ is None else environ
    check_variables(environ)
    path = _file(environ)
    values = {name: (value, str(path)) for name, value in _read(path).items()}
    values |= {name: (environ[_variable(name)], _variable(name)) for name in _NAMES if _variable(name) in environ}
    flag = {name: f"--{name.replace('_', '-')}" for name in flags}
    values |= {name: (value, flag[name]) for name, value in flags.items() if value is not None}
    return Config(**{name: _checked(name, value, source) for name, (value, source) in values.items()})


def check_variables(environ: Mapping[str, str]) -> None:
    """Raise BadRequest where a variable begins with WEBEMU_ and no part of webemu reads it."""
    known = {*map(_variable, _NAMES), *OTHER_VARIABLES}
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known and not name.startswith("WEBEMU_COPY_"):
            alike = get_close_matches(name, known, 1)
            raise BadRequest(
                f"the environment has {name}, which is no setting" + (f": {alike[0]} is meant?" if alike else ""),
                action=f"unset {name}; settings: {', '.join(map(_variable, _NAMES))}",
            )


_NAMES = [field.name for field in fields(Config)]


def _variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _file(environ: Mapping[str, str]) -> Path:
    path = Path(environ.get("WEBEMU_CONFIG", "webemu.toml"))
    if "WEBEMU_CONFIG" in environ and not path.exists():
        raise BadRequest(f"there is no file {path} (from WEBEMU_CONFIG)", action="name a file, or unset WEBEMU_CONFIG")
    return path


def _read(path: Path) -> dict[str, Any]:
    """Return what a file says; nothing if there is none."""
    if not path.exists():
        return {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadRequest(f"{path}: {error}", action="correct the file; it is TOML") from error
    if unknown := sorted(values.keys() - set(_NAMES)):
        alike = get_close_matches(unknown[0], _NAMES, 1)
        hint = f": {alike[0]} is meant?" if alike else ""
        raise BadRequest(f"{path}: unknown settings {unknown}{hint}", action=f"known ones: {', '.join(_NAMES)}")
    return values


def _checked(name: str, value: Any, source: str) -> Any:
    """Return a value in the type of its setting. Raises BadRequest, which names the source."""
    kind = type(getattr(Config(), name))
    try:
        if isinstance(value, bool) or not isinstance(value, int | str | Path):
            raise ValueError
        typed = kind(value)
    except (ValueError, TypeError):
        expected = "a whole number" if kind is int else "a text"
        raise BadRequest(
            f"{name} must be {expected}, got {value!r} (from {source})", action=f"correct {source}"
        ) from None
    try:
        replace(Config(), **{name: typed})
    except BadRequest as error:
        raise BadRequest(f"{error.message} (from {source})", action=error.action) from None
    return typed
