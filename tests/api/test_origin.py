"""A recorded answer given again: true to what was recorded, and to what the client can take."""

import gzip

import pytest

from webemu.api.http.head import sanitize_headers
from webemu.api.http.response import Response
from webemu.api.services.origin import rebuild_response
from webemu.emulator.errors import PayloadError
from webemu.emulator.types import Payload

BODY = b"<p>" + b"a lighthouse keeper's log " * 40
RECORDED = (
    (b"Date", b"Tue, 03 Dec 2024 08:00:00 GMT"),
    (b"X-Crawler-content-encoding", b"br"),
    (b"ETag", b'"v1"'),
    (b"Transfer-Encoding", b"chunked"),
    (b"Last-Modified", b"Mon, 02 Dec 2024 07:00:00 GMT"),
    (b"Content-Length", b"77"),
    (b"Set-Cookie", b"a=1"),
    (b"set-cookie", b"b=2"),
    (b"X-Crawler-Id", b"7"),
    (b"X-Crawler-Content-Length", b"99"),
    (b"bad name", b"x"),
    (b"Split", b"one\r\nX-Evil: two"),
)


def decode(payload: Payload) -> bytes:
    if payload.body == b"broken":
        raise PayloadError("cannot be decoded")
    return gzip.decompress(payload.body)


def ask(payload: Payload, method: str = "GET", **headers: str) -> Response:
    return rebuild_response(
        payload, method, {k.replace("_", "-").encode(): v.encode() for k, v in headers.items()}, decode
    )


def page(status: int = 200, body: bytes = BODY, headers: tuple[tuple[bytes, bytes], ...] = RECORDED) -> Payload:
    return Payload(status, "Quite Fine", headers, body, "")


def test_status_reason_and_headers_are_the_origins() -> None:
    reply = ask(page())
    assert (reply.status, reply.reason, reply.body) == (200, b"Quite Fine", BODY)
    headers, dropped = sanitize_headers(reply.headers)
    assert dropped == ["bad-name", "bad-value"]
    assert headers == [
        (b"Date", b"Tue, 03 Dec 2024 08:00:00 GMT"),
        (b"ETag", b'"v1"'),
        (b"Last-Modified", b"Mon, 02 Dec 2024 07:00:00 GMT"),
        (b"Content-Length", b"%d" % len(BODY)),
        (b"Set-Cookie", b"a=1"),
        (b"set-cookie", b"b=2"),
        (b"X-Crawler-Id", b"7"),
        (b"X-Webemu-Dropped-Headers", b"2"),
    ]


@pytest.mark.parametrize("accepted", ["gzip", "br, gzip;q=0.5", "*", "x-gzip"])
def test_a_masked_coding_is_applied_for_who_takes_one(accepted: str) -> None:
    reply = ask(page(), accept_encoding=accepted)
    headers = dict(reply.headers)
    assert headers[b"content-encoding"] == b"gzip"
    assert gzip.decompress(reply.body) == BODY
    assert headers[b"Content-Length"] == b"%d" % len(reply.body)
    assert [name for name, _ in reply.headers][:2] == [b"Date", b"content-encoding"]


@pytest.mark.parametrize("accepted", ["", "identity", "gzip;q=0", "gzip; q=0.000", "br"])
def test_and_for_nobody_else(accepted: str) -> None:
    assert b"content-encoding" not in {name.lower() for name, _ in ask(page(), accept_encoding=accepted).headers}


def test_a_coding_kept_by_the_crawl_is_kept_or_taken_off() -> None:
    packed = gzip.compress(BODY)
    gzipped_page = Payload(200, "OK", ((b"Content-Encoding", b"gzip"), (b"Content-Type", b"text/html")), packed, "gzip")
    assert ask(gzipped_page, accept_encoding="gzip").body == packed
    plain = ask(gzipped_page)
    assert (plain.body, plain.headers[0]) == (BODY, (b"Content-Type", b"text/html"))
    broken = Payload(200, "OK", ((b"Content-Encoding", b"gzip"),), b"broken", "gzip")
    assert (ask(broken).body, ask(broken).headers[0]) == (b"broken", (b"Content-Encoding", b"gzip"))


@pytest.mark.parametrize(
    "conditions",
    [
        {"if_none_match": '"v1"'},
        {"if_none_match": 'W/"v1"'},
        {"if_none_match": '"v0", "v1"'},
        {"if_none_match": "*"},
        {"if_modified_since": "Mon, 02 Dec 2024 07:00:00 GMT"},
        {"if_modified_since": "Wed, 04 Dec 2024 07:00:00 GMT"},
    ],
)
def test_what_the_client_has_is_not_sent_again(conditions: dict[str, str]) -> None:
    reply = ask(page(), **conditions)
    assert (reply.status, reply.body) == (304, b"")
    assert {name.lower() for name, _ in reply.headers} == {b"date", b"etag", b"last-modified", b"set-cookie"}


@pytest.mark.parametrize(
    "conditions",
    [
        {"if_none_match": '"v0"'},
        {"if_none_match": '"v0"', "if_modified_since": "Wed, 04 Dec 2024 07:00:00 GMT"},
        {"if_modified_since": "Sun, 01 Dec 2024 07:00:00 GMT"},
        {"if_modified_since": "yesterday"},
    ],
)
def test_what_it_has_not_is(conditions: dict[str, str]) -> None:
    assert ask(page(), **conditions).status == 200


@pytest.mark.parametrize(
    ("span", "expected", "content_range"),
    [
        ("bytes=0-4", BODY[:5], "bytes 0-4/{n}"),
        ("bytes=10-", BODY[10:], "bytes 10-{e}/{n}"),
        ("bytes=-7", BODY[-7:], "bytes {s}-{e}/{n}"),
        ("bytes=5-99999999", BODY[5:], "bytes 5-{e}/{n}"),
    ],
)
def test_a_range_is_cut_out(span: str, expected: bytes, content_range: str) -> None:
    reply = ask(page(), range=span)
    size = len(BODY)
    assert (reply.status, reply.body) == (206, expected)
    assert dict(reply.headers)[b"Content-Range"].decode() == content_range.format(n=size, e=size - 1, s=size - 7)
    assert dict(reply.headers)[b"Content-Length"] == b"%d" % len(expected)


@pytest.mark.parametrize("span", ["bytes=0-1,5-6", "lines=0-4", "bytes=7-2", "bytes=-", "nonsense"])
def test_a_range_that_is_none_gives_the_whole(span: str) -> None:
    assert ask(page(), range=span).status == 200


def test_a_range_beyond_the_end_is_refused() -> None:
    reply = ask(page(), range="bytes=999999-")
    assert (reply.status, reply.body, dict(reply.headers)[b"Content-Range"]) == (416, b"", b"bytes */%d" % len(BODY))


def test_a_range_of_another_version_gives_the_whole() -> None:
    assert ask(page(), range="bytes=0-4", if_range='"v1"').status == 206
    assert ask(page(), range="bytes=0-4", if_range='"v0"').status == 200


def test_redirects_and_errors_are_given_as_they_are() -> None:
    moved = page(302, b"", ((b"Location", b"/elsewhere"),))
    assert ask(moved, if_none_match="*", range="bytes=0-1").headers == [
        (b"Location", b"/elsewhere"),
        (b"Content-Length", b"0"),
    ]
    assert ask(page(500), if_none_match='"v1"').status == 500
