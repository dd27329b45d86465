"""Keys by which a request finds the recorded exchange (request and response) that answers it.

An exact key covers method, URL, body and the headers that choose a representation. A near key leaves out what changes
from run to run: parameters and members named in `VOLATILE_NAMES`, the order of parameters and members, the boundary of
a multipart body, and every header but `Range`. Secrets are replaced by `REDACTED` before either key is made, so that
another API key gives the same exact key, and so that recordings need not hold one. Ingest and serving share this
module: a change of its rules needs `VERSION` raised, and recordings read again (`webemu ingest --reread`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import parse_qsl

from webemu.emulator import urls

VERSION = 1
"""Version of the rules, which is part of every key."""
REDACTED = "REDACTED"
"""Text that takes the place of a secret."""
RECORDING_HEADER = "WARC-Webemu-Recording"
"""Header of a request record whose exchange is replayed as such, though its method is GET: that of a recorded run."""
SECRET_NAMES = frozenset(
    "apikey accesstoken authtoken refreshtoken idtoken clientsecret secretkey secret password passwd subscriptionkey "
    "subscriptiontoken xapikey appkey authorization bearertoken".split()
)
"""Names of parameters, members and headers whose values are secrets; without `-` and `_`, in lower case."""
SECRET_HEADERS = frozenset(
    b"authorization proxy-authorization cookie x-api-key api-key apikey x-goog-api-key x-subscription-token "
    b"ocp-apim-subscription-key x-auth-token x-access-token x-rapidapi-key".split()
)
"""Request headers whose values are secrets, in lower case."""
VOLATILE_NAMES = SECRET_NAMES | frozenset(
    "ts timestamp nonce requestid xrequestid traceid spanid correlationid sessionid cachebuster cb rnd rand random "
    "uuid idempotencykey sentat currenttime clienttime".split()
)
"""Names of parameters, members and headers that differ from run to run; without `-` and `_`, in lower case."""
_IGNORED_HEADERS = ("x-webemu-", "x-stainless-", "x-amz-", "x-datadog-", "x-b3-", "x-forwarded-")
_SECRET_VALUE = re.compile(r"(?=[^&]*[0-9])(?=[^&]*[A-Za-z])[\w.~-]{20,}")
"""Value of a parameter named `key` that looks like a secret."""
_PARAMETER = re.compile(r"(^|[?&;])([^=&?;#]{1,60})=([^&;#]*)")
_MEMBER = re.compile(rb'"([A-Za-z_-]{3,40})"(\s*:\s*)"(?:[^"\\]|\\.)*"')
_BOUNDARY = re.compile(r"boundary=\"?([^\";,\s]+)", re.IGNORECASE)
_MAX_DEPTH = 40
"""Nesting of a JSON body beyond which it is compared byte by byte."""


class ExchangeKeys(NamedTuple):
    """Keys of one request, as 32 hexadecimal digits each."""

    exact: str
    near: str


def make_keys(method: str, url: str, headers: Mapping[bytes, bytes], body: bytes) -> ExchangeKeys:
    """Return the keys of a request. `headers` are by lower-case name.

    make_keys("GET", "https://api.example.org/find?q=a&api_key=1", {}, b"")
    """
    url = redact_url(urls.normalize(url))
    content_type = headers.get(b"content-type", b"").decode("latin-1").lower()
    body = redact_body(body, content_type)
    span = headers.get(b"range", b"").decode("latin-1")
    exact_parts = (method, url, span, *_list_choosing_headers(headers))
    near_parts = (method, _drop_volatile(url), span)
    return ExchangeKeys(_hash("exact", exact_parts, body), _hash("near", near_parts, _normalize_body(body, headers)))


def redact_url(url: str) -> str:
    """Return a URL whose query has `REDACTED` in place of secrets."""
    address, mark, query = url.partition("?")
    return f"{address}?{_PARAMETER.sub(_redact_parameter, query)}" if mark else url


def redact_body(body: bytes, content_type: str) -> bytes:
    """Return a request's body, a form or JSON, with `REDACTED` in place of secrets; any other body as it is."""
    if content_type.startswith("application/x-www-form-urlencoded"):
        return _PARAMETER.sub(_redact_parameter, body.decode("latin-1")).encode("latin-1")
    if body.lstrip()[:1] in (b"{", b"["):
        return _MEMBER.sub(_redact_member, body)
    return body


def redact_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return request headers with `REDACTED` in place of secrets."""
    return [(name, REDACTED.encode() if is_secret_header(name) else value) for name, value in headers]


def is_secret_header(name: bytes) -> bool:
    """True if the value of a request header is a secret."""
    return name.lower() in SECRET_HEADERS or _plain_name(name.decode("latin-1")) in SECRET_NAMES


def _plain_name(name: str) -> str:
    """Return a name as the sets of names spell it."""
    return name.replace("-", "").replace("_", "").lower()


def _redact_parameter(match: re.Match[str]) -> str:
    start, name, value = match.groups()
    is_secret = _plain_name(name) in SECRET_NAMES or (name.lower() == "key" and _SECRET_VALUE.fullmatch(value))
    return f"{start}{name}={REDACTED}" if value and is_secret else match[0]


def _redact_member(match: re.Match[bytes]) -> bytes:
    is_secret = _plain_name(match[1].decode()) in SECRET_NAMES
    return b'"%b"%b"%b"' % (match[1], match[2], REDACTED.encode()) if is_secret else match[0]


def _list_choosing_headers(headers: Mapping[bytes, bytes]) -> list[str]:
    """Return `Accept` and the headers of services' own (`X-…`), which choose what is answered, as sorted lines."""
    lines = []
    for name, value in headers.items():
        text = name.decode("latin-1").lower()
        if text == "accept" or (
            text.startswith("x-")
            and not text.startswith(_IGNORED_HEADERS)
            and not is_secret_header(name)
            and _plain_name(text.removeprefix("x-")) not in VOLATILE_NAMES
            and _plain_name(text) not in VOLATILE_NAMES
        ):
            lines.append(f"{text}: {value.decode('latin-1')}")
    return sorted(lines)


def _drop_volatile(url: str) -> str:
    """Return a URL without volatile parameters, the others in order."""
    address, _, query = url.partition("?")
    return f"{address}?{_sort_parameters(query)}"


def _sort_parameters(query: str) -> str:
    """Return the parameters of a query or a form in order, without volatile ones."""
    pairs = parse_qsl(query, keep_blank_values=True)
    return repr(sorted(pair for pair in pairs if pair[0] != "_" and _plain_name(pair[0]) not in VOLATILE_NAMES))


def _normalize_body(body: bytes, headers: Mapping[bytes, bytes]) -> bytes:
    """Return what of a body does not change from run to run."""
    content_type = headers.get(b"content-type", b"").decode("latin-1")
    if content_type.lower().startswith("application/x-www-form-urlencoded"):
        return _sort_parameters(body.decode("latin-1")).encode()
    if boundary := _BOUNDARY.search(content_type):
        return body.replace(boundary[1].encode("latin-1"), b"boundary")
    if body.lstrip()[:1] in (b"{", b"["):
        try:
            return json.dumps(_drop_members(json.loads(body), _MAX_DEPTH), sort_keys=True).encode()
        except (ValueError, RecursionError):
            return body
    return body


def _drop_members(value: object, depth: int) -> object:
    """Return a JSON value without volatile members. Raises ValueError if it is nested too deeply."""
    if not depth:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        members = value.items()
        return {name: _drop_members(one, depth - 1) for name, one in members if _plain_name(name) not in VOLATILE_NAMES}
    return [_drop_members(one, depth - 1) for one in value] if isinstance(value, list) else value


def _hash(kind: str, parts: tuple[str, ...], body: bytes) -> str:
    digest = blake2b(digest_size=16)
    for part in (f"{kind} {VERSION}", *parts):
        text = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d " % len(text) + text)
    digest.update(body)
    return digest.hexdigest()
