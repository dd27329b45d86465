"""Judges what clients printed: whether each case came out as it does on the open web."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.clients.calls import PAGE, PAGE_FACT, PAGE_TITLE, Call
from benchmarks.clients.programs import Client, Program

OWN_WORDS = re.compile(r"webemu|emulat|snapshot|\bcaptur", re.IGNORECASE)
"""Words that tell an agent where it is."""
ARCHIVE_CLIENTS = "archives"
"""Name of the program whose services speak of captures themselves."""
FORMAT_ERROR = re.compile(
    r"^(?:\w+\.)*(ValidationError|JSONDecodeError|KeyError|TypeError|AttributeError|IndexError|UnicodeDecodeError)\b.*",
    re.MULTILINE,
)
"""Last line of a trace that shows that an answer had not the form that the client expects."""
_ADDRESS = re.compile(
    r"https?://(?:127\.0\.0\.1:\d+|webemu)\S*|/\S*(?:site-packages|node_modules|\.clients)\S*|\S*\.cache/\S*"
    r"|x-webemu-[\w-]+",
    re.IGNORECASE,
)
"""Addresses of this machine, and the names of the headers that mark answers: no words that a model reads."""
_NAMED_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
_URL = re.compile(r"https?://[^\s\"'<>\\)\]},]+")
_KEYLESS = re.compile(r"duckduck|ddgs|duck-duck|searx|RSS", re.IGNORECASE)


class Verdict(NamedTuple):
    """The outcome of a client: each case is an empty text where it held, or the reason why it did not."""

    client: str
    description: str
    package: str
    version: str
    seconds: float
    """Seconds of its first case in `webemu run`, with the start of its process."""
    success: str
    empty: str
    error: str
    """`-` if the service wants no key, so that there is none to be wrong."""
    paging: str
    """`-` if the client takes no number of a page."""
    proxy: str
    """The first case by proxy, with the variables of `webemu env`."""

    @property
    def cases(self) -> dict[str, str]:
        """The five cases by name."""
        return dict(zip(("found", "empty", "error", "paging", "proxy"), self[5:10], strict=True))

    @property
    def as_shipped(self) -> bool:
        """True if every case held in `webemu run`, with the client as it is published."""
        return all(case in {"", "-"} for case in (self.success, self.empty, self.error, self.paging))


def judge(program: Program, versions: dict[str, str], sealed: Sequence[Call], proxied: Sequence[Call]) -> list[Verdict]:
    """Return a verdict on each client of a program."""
    by_case = {(call.function, call.case): call for call in sealed}
    by_proxy = {call.function: call for call in proxied}
    return [_judge_client(program, client, versions, by_case, by_proxy[client.function]) for client in program.clients]


def _judge_client(
    program: Program,
    client: Client,
    versions: dict[str, str],
    calls: dict[tuple[str, str], Call],
    proxied: Call,
) -> Verdict:
    package = find_package(client, versions)
    may_name = program.name == ARCHIVE_CLIENTS
    keyless = client.is_search and _KEYLESS.search(f"{client.function} {client.description}") is not None
    paging = _judge_paging(calls, client) if client.has_pages else "-"
    return Verdict(
        client.function,
        client.description,
        package,
        versions.get(package, ""),
        calls[client.function, "found"].seconds,
        _judge_found(calls[client.function, "found"]),
        _judge_empty(calls[client.function, "empty"], may_name),
        "-" if keyless else _judge_error(calls[client.function, "error"], may_name),
        paging,
        _judge_found(proxied),
    )


def find_package(client: Client, versions: dict[str, str]) -> str:
    """Return the package that a client's description names; the longest if several do."""
    names = [name for name in versions if re.search(rf"(?<![\w/-]){re.escape(name)}(?![\w-])", client.description)]
    return max(names, key=len, default="")


def _judge_found(call: Call) -> str:
    # A reader's message of failure names the page's URL, so that only a search has found it by its URL.
    signs = (PAGE_TITLE, PAGE_FACT, *([PAGE] if call.function.startswith("search") else []))
    if call.status == 0 and any(sign in call.output for sign in signs):
        return ""
    return _describe(call) or "the page is not in its answer"


def _judge_empty(call: Call, may_name: bool) -> str:
    if call.status == 124:
        return call.errors
    if PAGE_FACT in call.output:
        return "the answer is that of another page"
    format_error = FORMAT_ERROR.search(call.errors) if call.status else None
    return format_error[0][:200] if format_error else _find_own_words(call, may_name)


def _judge_error(call: Call, may_name: bool) -> str:
    if call.status == 124:
        return call.errors
    if PAGE_FACT in call.output:
        return "answered all the same"
    return _find_own_words(call, may_name)


def _judge_paging(calls: dict[tuple[str, str], Call], client: Client) -> str:
    pages = [calls[client.function, case] for case in ("first page", "second page")]
    first, second = ({url.rstrip(".") for url in _URL.findall(page.output) if "openlexicon" in url} for page in pages)
    if not first or not second:
        return next(filter(None, map(_describe, pages)), "a page names no URL")
    return "" if len(first & second) * 2 < len(second) else "the second page repeats the first"


def _find_own_words(call: Call, may_name: bool) -> str:
    """Return the first word that tells where the agent is, within what the client printed."""
    match = OWN_WORDS.search(_ADDRESS.sub("", call.output + _last_line(call.errors)))
    return f"names {match[0]}" if match and not may_name else ""


def _describe(call: Call) -> str:
    """Return why a process failed: the last line that it wrote to standard error."""
    return _last_line(call.errors)[:200] if call.status else ""


def _last_line(errors: str) -> str:
    """Return the last line that names an error; if none does, the last line."""
    lines = [line for line in errors.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
    named = [line for line in lines if _NAMED_ERROR.match(line)]
    return _ADDRESS.sub("…", (named or lines)[-1]) if lines else ""
