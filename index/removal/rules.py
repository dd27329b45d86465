"""Rules of what was removed from a collection, why and when: `removed.jsonl` beside the catalog, a rule a line.

The file outlives catalog and snapshots: whatever is ingested later is swept by it (`webemu.index.removal.sweep`).
A URL is meant in all spellings under which the server would answer: http and https, with and without `www.`, index
file and idle parameters.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Literal, get_args

from webemu.emulator import urls
from webemu.emulator.errors import CatalogError

FILE = "removed.jsonl"
"""Name of the file in a collection folder."""
NO_FILE = 0, 0
"""State of a file that does not exist."""
Kind = Literal["url", "prefix", "host", "source"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that was removed."""

    kind: Kind
    value: str
    """URL, beginning of URLs, host (`*.example.org` with its subdomains), or id of a source in hex."""
    reason: str
    time: str
    """Time of the removal, ISO 8601."""
    name: str = ""
    """Name of a source."""
    path: str = ""
    """Path from which a source was read, so that it can be taken back."""

    @property
    def key(self) -> tuple[Kind, str]:
        """Return what the rule removes, without reason and time."""
        return self.kind, self.value

    def prefixes(self) -> tuple[str, ...]:
        """Return beginnings of SURT keys that the rule covers."""
        if self.kind == "host":
            host = urls.surt_key(f"http://{self.value.removeprefix('*.')}/").removesuffix(")/")
            return (f"{host})", f"{host}:") + ((f"{host},",) if self.value.startswith("*.") else ())
        if self.kind != "prefix":
            return ()
        surt = urls.surt_key(self.value)
        # A SURT key has no slash at its end, so that `/private/` would also mean `/privateer`.
        if self.value.endswith("/") and not surt.endswith("/"):
            return (f"{surt}/", f"{surt}?")
        return (surt,)


def now() -> str:
    """Return the time of a removal that happens now."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def parse_rule(kind: Kind, value: str, reason: str, time: str) -> Rule:
    """Return a rule of a value as a user writes it. A source's value must be its id."""
    if kind in ("url", "prefix"):
        value = urls.parse_user_url(value)
    return Rule(kind, value.strip().lower() if kind == "host" else value, reason, time)


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules of a collection."""

    rules: tuple[Rule, ...] = ()
    loose_keys: frozenset[str] = field(init=False)
    """Loose SURT keys of removed URLs."""
    surts: frozenset[str] = field(init=False)
    """SURT keys that are covered whole: those of prefixes that name a folder."""
    prefixes: frozenset[str] = field(init=False)
    sources: frozenset[int] = field(init=False)
    """Ids of removed sources."""

    def __post_init__(self) -> None:
        """Fill the sets that are looked up."""
        by_kind = {kind: [rule for rule in self.rules if rule.kind == kind] for kind in KINDS}
        folders = [rule for rule in by_kind["prefix"] if rule.value.endswith("/")]
        object.__setattr__(self, "loose_keys", frozenset(urls.loose_key(rule.value) for rule in by_kind["url"]))
        object.__setattr__(self, "surts", frozenset(urls.surt_key(rule.value) for rule in folders))
        object.__setattr__(self, "prefixes", frozenset(text for rule in self.rules for text in rule.prefixes()))
        object.__setattr__(self, "sources", frozenset(int(rule.value, 16) for rule in by_kind["source"]))

    def covers(self, url: str) -> bool:
        """True if a rule covers the URL."""
        surt = urls.surt_key(url)
        if surt in self.surts or any(surt[:length] in self.prefixes for length in self.prefix_lengths()):
            return True
        return bool(self.loose_keys) and urls.loose_key(url) in self.loose_keys

    def prefix_lengths(self) -> set[int]:
        """Return the lengths of the prefixes, each once."""
        return {len(prefix) for prefix in self.prefixes}

    def digest(self) -> str:
        """Return a hash of what is removed; empty if nothing is."""
        keys = sorted(rule.key for rule in self.rules)
        return blake2b(json.dumps(keys).encode(), digest_size=8).hexdigest() if keys else ""

    def with_added(self, added: Iterable[Rule]) -> Rules:
        """Return these rules and others; of equal ones, the older stays."""
        by_key = {rule.key: rule for rule in (*added, *self.rules)}
        older = {rule.key: rule for rule in self.rules}
        return Rules(tuple({**older, **{key: rule for key, rule in by_key.items() if key not in older}}.values()))

    def without(self, keys: Iterable[tuple[Kind, str]]) -> Rules:
        """Return the rules but those of these keys."""
        dropped_keys = set(keys)
        return Rules(tuple(rule for rule in self.rules if rule.key not in dropped_keys))


def read_rules(collection: Path) -> Rules:
    """Return the rules of a collection; none if nothing was removed. Raises CatalogError if the file is damaged."""
    path = collection / FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return Rules(tuple(Rule(**json.loads(line)) for line in lines if line.strip()))
    except FileNotFoundError:
        return Rules()
    except (ValueError, TypeError) as error:
        raise CatalogError(
            f"{path} cannot be read: {error}", action="restore it: it says which captures must stay out"
        ) from error


def find_rules(home: Path) -> Rules:
    """Return the rules of the collection that a folder is, or of which it is a partition (`parts/COUNT/NUMBER`)."""
    return read_rules(home.parents[2] if home.parent.parent.name == "parts" else home)


def file_state(path: Path) -> tuple[int, int]:
    """Return what differs after a file was written anew; NO_FILE if there is none."""
    try:
        stat = path.stat()
    except OSError:
        return NO_FILE
    return stat.st_mtime_ns, stat.st_ino


def write_rules(collection: Path, rules: Rules) -> None:
    """Write the rules of a collection, all or none of them."""
    temporary = collection / f".{FILE}.{os.getpid()}"
    with temporary.open("w", encoding="utf-8") as file:
        for rule in rules.rules:
            file.write(json.dumps(asdict(rule), ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(collection / FILE)
