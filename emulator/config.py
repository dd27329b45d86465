"""The settings of one run, from `webemu.toml`, then `WEBEMU_*` variables, then flags; later sources win.

A `Config` is passed as an argument and never read at import.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TypeAlias

from webemu.emulator.errors import BadRequest
from webemu.emulator.listener_policies import BoundListener, parse_listeners
from webemu.emulator.logs import LOG_FORMATS
from webemu.emulator.tenants import NO_TENANT, TABLE, Settings, choose_tenant, parse_tenants

Network: TypeAlias = IPv4Network | IPv6Network

COLLECTION_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names of collections, which are also folder names."""
VARIABLE_PREFIX = "WEBEMU_"
"""Prefix of the environment variables."""
OTHER_VARIABLES = frozenset(
    {
        *("WEBEMU_CONFIG", "WEBEMU_SERVER", "WEBEMU_TRACEBACK"),  # read by the command line
        "WEBEMU_BIND",  # read by deploy/haproxy.cfg, as are WEBEMU_COPY_1 and so on
        # Read by the tests:
        *("WEBEMU_ARTIFACTS", "WEBEMU_DEMO_TEST", "WEBEMU_KILLS", "WEBEMU_KILL_TEST", "WEBEMU_SHARED"),
        *("WEBEMU_CHAIN_CASES", "WEBEMU_CHAIN_SEED", "WEBEMU_TEST_CASES"),
    }
)
"""Variables with the prefix that are not settings; any other one is taken for a misspelled setting."""
WEB_PORTS_PATTERN = re.compile(r"none||[0-9]{1,5}(\s*,\s*[0-9]{1,5})*")
"""Values of `web_ports`: none, empty, or numbers with commas between them."""
_BOOLEANS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
MIN_HOST_BITS = 8
"""Fewest bits that a network of `dns_networks` leaves for hosts."""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one run. Every field is also `WEBEMU_<FIELD>` in the environment and a key of `webemu.toml`."""

    root: Path = Path("webemu-data")
    """Folder that holds the collections."""
    collection: str = "default"
    """Name of the collection to work on."""
    host: str = "127.0.0.1"
    """Address the server binds to."""
    port: int = 8800
    """Port the server binds to."""
    web_ports: str = "none"
    """Further TCP ports that the server listens on, such as `80,443`."""
    uds: str = "none"
    """Path of a Unix domain socket that the server also listens on, for clients on the same machine."""
    dns_port: int = 0
    """DNS listener port (UDP and TCP); captured host names resolve to this server; 0 disables it."""
    dns_networks: str = "none"
    """Networks, such as `22.0.0.0/8`, in which DNS gives each host an address; `none` gives all hosts the server's."""
    workers: int = 1
    """Number of processes that serve or ingest."""
    cache_mb: int = 64
    """Memory for rendered answers and work that sessions share, in MB per serving process."""
    views_mb: int = 2048
    """Disk space for pages as markdown and with links, which are converted once and kept, in MB; 0 keeps none."""
    compress: int = 0
    """Gzip API responses of at least this many bytes if the client accepts gzip; 0 disables it."""
    api_keys: str = "any"
    """Keys that the APIs accept, with commas between them; `any` accepts every key and none."""
    open: bool = False
    """Listen on addresses that other machines can reach although `api_keys` accepts any key."""
    state: str = "none"
    """Folder for the session ledger, traces and kept renderings if the root is read-only; `none` writes to the root."""
    policy: str = "none"
    """File with a policy in JSON, or the id of a session, which holds for every request; `none` for neither."""
    listen: str = "none"
    """Further listeners with policies of their own, such as `127.0.0.1:8801=policy.json`, with commas between them."""
    require_session: bool = False
    """Refuse requests that carry no session."""
    admin_token: str = "none"
    """Token of the trainer, without which sessions, ledgers and statistics are closed; `none` leaves them open."""
    tenant: str = NO_TENANT
    """Tenant whose table of `webemu.toml` holds; `none` for the settings outside the tables."""
    requests_per_minute: int = 0
    """Requests that the server answers in a minute; 0 for any number."""
    megabytes_per_day: int = 0
    """Megabytes that the server answers with in a day, after which requests are refused; 0 for any number."""
    log_format: str = "text"
    """Form of the server's log on standard error: `text`, or `json` for one object per line."""
    slow_ms: int = 1000
    """Log requests that take longer than this, in milliseconds; 0 disables it."""
    check_hours: int = 24
    """Hours between two checks of all files that are served, in the background from the start on; 0 disables them."""

    def __post_init__(self) -> None:
        if not COLLECTION_NAME_PATTERN.fullmatch(self.collection):
            raise BadRequest(
                f"collection name {self.collection!r} is not usable as a folder name",
                action="use letters, digits, '.', '_' and '-' (at most 64)",
            )
        for name, port in [("port", self.port), ("dns_port", self.dns_port)]:
            if not 0 <= port <= 65_535:
                raise BadRequest(
                    f"{name} must be between 0 and 65535, got {port}", action=f"set {name} to a port number"
                )
        if not WEB_PORTS_PATTERN.fullmatch(self.web_ports) or any(port > 65_535 for port in self.further_ports):
            raise BadRequest(
                f"web_ports must be numbers between 0 and 65535, got {self.web_ports!r}",
                action="separate them with commas, as in 80,443; none disables them",
            )
        if not self._has_usable_networks():
            raise BadRequest(
                f"dns_networks must be networks of 256 addresses or more, got {self.dns_networks!r}",
                action="write them as in 22.0.0.0/8,2608::/32; none disables them",
            )
        for name, number, minimum in [
            ("workers", self.workers, 1),
            ("cache_mb", self.cache_mb, 0),
            ("views_mb", self.views_mb, 0),
            ("slow_ms", self.slow_ms, 0),
            ("check_hours", self.check_hours, 0),
            ("compress", self.compress, 0),
            ("requests_per_minute", self.requests_per_minute, 0),
            ("megabytes_per_day", self.megabytes_per_day, 0),
        ]:
            if number < minimum:
                raise BadRequest(
                    f"{name} must be {minimum} or more, got {number}", action=f"set {name} to {minimum} or more"
                )
        if self.admin_token != "none" and (len(self.admin_token) < 16 or not self.admin_token.isascii()):
            raise BadRequest(
                "admin_token must have 16 ASCII characters or more, since whoever guesses it reads every session",
                action="make one with: python -c 'import secrets; print(secrets.token_urlsafe())'",
            )
        parse_listeners(self.listen)
        if self.log_format not in LOG_FORMATS:
            raise BadRequest(
                f"log_format must be one of {', '.join(LOG_FORMATS)}, got {self.log_format!r}",
                action="choose one of these",
            )

    @property
    def accepted_keys(self) -> frozenset[str]:
        """The accepted API keys; empty if any key will do."""
        names = (key.strip() for key in self.api_keys.split(","))
        return frozenset() if self.api_keys == "any" else frozenset(key for key in names if key)

    @property
    def bound_listeners(self) -> tuple[BoundListener, ...]:
        """The listeners of `listen`."""
        return parse_listeners(self.listen)

    @property
    def collection_folder(self) -> Path:
        """Folder of the collection."""
        return self.root / self.collection

    @property
    def socket_path(self) -> Path | None:
        """Path of the Unix socket; None if there is none."""
        return Path(self.uds) if self.uds not in ("", "none") else None

    @property
    def state_folder(self) -> Path:
        """Folder in which the server writes the sessions of the collection."""
        return self.collection_folder if self.state == "none" else Path(self.state) / self.collection

    @property
    def further_ports(self) -> tuple[int, ...]:
        """The ports of `web_ports` as numbers."""
        return tuple(int(digits) for digits in re.findall("[0-9]+", self.web_ports))

    @property
    def host_networks(self) -> tuple[Network, ...]:
        """The networks of `dns_networks`."""
        names = () if self.dns_networks == "none" else filter(None, map(str.strip, self.dns_networks.split(",")))
        return tuple(map(ip_network, names))

    def _has_usable_networks(self) -> bool:
        """True if `dns_networks` can be parsed and each network has room for hosts."""
        try:
            networks = self.host_networks
        except ValueError:
            return False
        return all(network.max_prefixlen - network.prefixlen >= MIN_HOST_BITS for network in networks)


def load_config(flags: Mapping[str, object], environ: Mapping[str, str] | None = None) -> Config:
    """Return the settings of `webemu.toml` (or of the file that `WEBEMU_CONFIG` names), the environment and the flags.

    Later sources win; a flag that is None counts as not given. Raises BadRequest, which names the file, variable or
    flag at fault.

        config = load_config({"port": 8900, "root": None})
        config.port  # 8900
    """
    environ = os.environ if environ is None else environ
    check_variables(environ)
    path = _config_path(environ)
    settings, tenants = _read_file(path)
    values = {name: (value, str(path)) for name, value in settings.items()}
    overrides: dict[str, tuple[object, str]] = {
        name: (environ[_variable_name(name)], _variable_name(name))
        for name in _SETTING_NAMES
        if _variable_name(name) in environ
    }
    overrides |= {name: (value, f"--{name.replace('_', '-')}") for name, value in flags.items() if value is not None}
    tenant = str((values | overrides).get("tenant", (NO_TENANT,))[0])
    if tenant != NO_TENANT:
        table = choose_tenant(path, tenants, tenant)
        _refuse_replacements(tenant, table, overrides)
        values |= {name: (value, f"{path}, tenant {tenant}") for name, value in table.items()}
        if "state" not in table:
            root = Path(str((values | overrides).get("root", (Config().root,))[0]))
            values["state"] = (root / ".tenants" / tenant, str(path))
    values |= overrides
    single_settings = {name: _parse_setting(name, value, source) for name, (value, source) in values.items()}
    return Config(**{name: getattr(config, name) for name, config in single_settings.items()})


def list_tenants(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the names of the tenants in `webemu.toml`. Raises BadRequest as `load_config` does."""
    return list(_read_file(_config_path(os.environ if environ is None else environ))[1])


def _refuse_replacements(tenant: str, table: Settings, overrides: Mapping[str, tuple[object, str]]) -> None:
    """Raise BadRequest if a variable or a flag would replace a tenant's own setting: it might open what that closes."""
    if name := next((name for name in table if name in overrides), None):
        source = overrides[name][1]
        raise BadRequest(f"{source} would replace the setting {name} of the tenant {tenant}", action=f"drop {source}")


def check_variables(environ: Mapping[str, str]) -> None:
    """Raise BadRequest if a variable begins with WEBEMU_ and no part of webemu reads it."""
    known_names = {*map(_variable_name, _SETTING_NAMES), *OTHER_VARIABLES}
    for name in sorted(environ):
        if name.startswith(VARIABLE_PREFIX) and name not in known_names and not name.startswith("WEBEMU_COPY_"):
            similar = get_close_matches(name, known_names, 1)
            raise BadRequest(
                f"environment variable {name} is not a setting" + (f"; did you mean {similar[0]}?" if similar else ""),
                action=f"unset {name}; the settings are {', '.join(map(_variable_name, _SETTING_NAMES))}",
            )


_SETTING_NAMES = [field.name for field in fields(Config)]


def _variable_name(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"{VARIABLE_PREFIX}{name.upper()}"


def _config_path(environ: Mapping[str, str]) -> Path:
    """Return the path of the TOML file, which need not exist unless `WEBEMU_CONFIG` names it. Raises BadRequest if it
    must.
    """
    path = Path(environ.get("WEBEMU_CONFIG", "webemu.toml"))
    if "WEBEMU_CONFIG" in environ and not path.exists():
        raise BadRequest(
            f"config file {path} does not exist (from WEBEMU_CONFIG)",
            action="set WEBEMU_CONFIG to an existing file, or unset it",
        )
    return path


def _read_file(path: Path) -> tuple[dict[str, object], dict[str, Settings]]:
    """Return the settings of a TOML file and those of its tenants; empty if there is no file.

    Raises BadRequest on bad TOML, unknown settings, and tenants that are not apart.
    """
    if not path.exists():
        return {}, {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadRequest(f"{path}: {error}", action="correct the file; it must be valid TOML") from error
    tenants = parse_tenants(path, values.pop(TABLE, {}), _SETTING_NAMES)
    if unknown := sorted(values.keys() - set(_SETTING_NAMES)):
        similar = get_close_matches(unknown[0], _SETTING_NAMES, 1)
        hint = f"; did you mean {similar[0]}?" if similar else ""
        raise BadRequest(
            f"{path}: unknown settings {', '.join(unknown)}{hint}",
            action=f"the settings are {', '.join(_SETTING_NAMES)}",
        )
    return values, tenants


def _parse_setting(name: str, value: object, source: str) -> Config:
    """Return the default settings with one replaced by a value. Raises BadRequest, which names the source."""
    setting_type = type(getattr(Config(), name))
    try:
        if setting_type is bool:
            value = _parse_boolean(value)
        elif isinstance(value, bool) or not isinstance(value, int | str | Path):
            raise ValueError
        typed = setting_type(value)
    except (ValueError, TypeError):
        expected = {int: "an integer", bool: "true or false"}.get(setting_type, "a string")
        raise BadRequest(
            f"{name} must be {expected}, got {value!r} (from {source})", action=f"correct {source}"
        ) from None
    # Validate this setting alone, so that the error can name its source; the complete Config is validated again later.
    try:
        return replace(Config(), **{name: typed})
    except BadRequest as error:
        raise BadRequest(f"{error.message} (from {source})", action=error.action) from None


def _parse_boolean(value: object) -> bool:
    """Return a boolean, or the one that a text of the environment means. Raises ValueError."""
    if isinstance(value, bool):
        return value
    if (text := str(value).lower()) not in _BOOLEANS:
        raise ValueError
    return _BOOLEANS[text]
