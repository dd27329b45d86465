"""Keys of recorded exchanges: what makes a request another one, and what does not."""

import json

import pytest

from webemu.emulator.exchange_keys import ExchangeKeys, make_keys, redact_body, redact_headers, redact_url

URL = "https://api.example/search?q=tea"
JSON = {b"content-type": b"application/json"}
FORM = {b"content-type": b"application/x-www-form-urlencoded"}


def keys(
    method: str = "GET", url: str = URL, headers: dict[bytes, bytes] | None = None, body: object = b""
) -> ExchangeKeys:
    return make_keys(method, url, headers or {}, body if isinstance(body, bytes) else json.dumps(body).encode())


@pytest.mark.parametrize(
    "other",
    [
        keys(url="HTTPS://API.example:443/search?q=tea#part"),
        keys(headers={b"user-agent": b"other", b"accept-encoding": b"br", b"cookie": b"a=1", b"x-api-key": b"k"}),
        keys(headers={b"x-request-id": b"7", b"x-stainless-retry-count": b"1", b"x-webemu-session": b"s"}),
    ],
)
def test_the_same_request(other: ExchangeKeys) -> None:
    assert other == keys()


@pytest.mark.parametrize(
    "other",
    [
        keys(url=f"{URL}&_=17"),
        keys(url=f"{URL}&timestamp=17&request_id=a"),
        keys(headers={b"accept": b"text/html"}),
        keys(headers={b"x-return-format": b"text"}),
    ],
)
def test_a_near_request(other: ExchangeKeys) -> None:
    assert other.exact != keys().exact
    assert other.near == keys().near


@pytest.mark.parametrize(
    "other",
    [
        keys(method="POST"),
        keys(url="http://api.example/search?q=tea"),
        keys(url="https://api.example/search?q=teas"),
        keys(url="https://api.example/search?q=tea&page=2"),
        keys(url="https://api.example/search?q=tea&q=tea"),
        keys(headers={b"range": b"bytes=0-9"}),
        keys(body=b"x"),
    ],
)
def test_another_request(other: ExchangeKeys) -> None:
    assert other.exact != keys().exact
    assert other.near != keys().near


def test_json_bodies() -> None:
    body = {"q": "tea", "api_key": "a", "nested": [{"ts": 1.5, "n": 2}]}
    first = keys("POST", headers=JSON, body=body)
    assert keys("POST", headers=JSON, body={**body, "api_key": "b"}) == first
    moved = keys("POST", headers=JSON, body={"nested": [{"n": 2, "ts": 99}], "q": "tea"})
    assert (moved.exact == first.exact, moved.near == first.near) == (False, True)
    for changed in ({"q": "oolong"}, {"nested": [{"ts": 1.5, "n": 3}]}, {"more": None}):
        assert keys("POST", headers=JSON, body={**body, **changed}).near != first.near
    deep = b'{"a":' * 500 + b"1" + b"}" * 500
    assert keys("POST", headers=JSON, body=deep).near != keys("POST", headers=JSON, body=deep + b" ").near


def test_forms_and_files() -> None:
    first = keys("POST", headers=FORM, body=b"q=tea&password=a&n=1")
    assert keys("POST", headers=FORM, body=b"q=tea&password=b&n=1") == first
    assert keys("POST", headers=FORM, body=b"n=1&q=tea").near == first.near
    assert keys("POST", headers=FORM, body=b"n=2&q=tea").near != first.near
    parts = [
        keys(
            "POST",
            headers={b"content-type": b"multipart/form-data; boundary=%b" % name},
            body=b"--%b\r\n\r\nleaf\r\n--%b--" % (name, name),
        )
        for name in (b"aaaa", b"bbbb")
    ]
    assert parts[0].exact != parts[1].exact
    assert parts[0].near == parts[1].near


def test_secrets_are_replaced() -> None:
    assert redact_url("https://a.example/?q=key&api_key=s&key=AIzaSyD1234567890abcdef") == (
        "https://a.example/?q=key&api_key=REDACTED&key=REDACTED"
    )
    assert (
        redact_url("https://a.example/?key=lighthouse&token_count=3")
        == "https://a.example/?key=lighthouse&token_count=3"
    )
    assert redact_body(b'{"apiKey" : "a\\"b", "keys": "a"}', "application/json") == (
        b'{"apiKey" : "REDACTED", "keys": "a"}'
    )
    assert redact_body(b"api_key", "text/plain") == b"api_key"
    assert redact_headers([(b"Authorization", b"Bearer s"), (b"Accept", b"*/*")]) == [
        (b"Authorization", b"REDACTED"),
        (b"Accept", b"*/*"),
    ]
    once = redact_url("https://a.example/?api_key=s&q=1")
    assert redact_url(once) == once


def test_keys_stay_the_same() -> None:
    """Recordings hold keys: a change of the rules must raise `VERSION`, and these values change with it."""
    assert keys("POST", headers=JSON, body={"q": "tea"}) == KEYS


KEYS = ExchangeKeys("a84099b997d22fda00edbe2a38f80440", "c7bd3cb19fb25b2b4478a4506230c9a9")
