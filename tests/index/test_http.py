"""Answers as crawlers recorded them: heads of every spelling, framing that lies, bodies coded otherwise."""

import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from webemu.emulator.errors import PayloadError
from webemu.index.http import Message, dechunk, decode_content, detect_coding, parse_response

LIMIT = 1 << 20
TEXT = b"<!doctype html><title>Harbour</title><p>Boats come in at noon.</p>" * 20


def parsed(block: bytes) -> Message:
    message = parse_response(block)
    assert message is not None
    return message


@pytest.mark.parametrize(
    ("line", "status", "reason"),
    [
        (b"HTTP/1.1 200 OK", 200, "OK"),
        (b"HTTP/1.0 404 Not Found", 404, "Not Found"),
        (b"HTTP/1.1 200", 200, ""),
        (b"HTTP/1.1 200 ", 200, ""),
        (b"HTTP/2 200", 200, ""),
        (b"HTTP/3 301 Moved", 301, "Moved"),
        (b"ICY 200 OK", 200, "OK"),
        (b"http/1.1  302  Found", 302, "Found"),
        (b"HTTP/1.1 999 Request denied", 999, "Request denied"),
        (b"HTTP/1.1 200OK", 200, "OK"),
        (b"HTTP/1.1 2000 Odd", 0, ""),
        (b"HTTP/1.1 Debian-3ubuntu3", 0, ""),
        (b"HTTP/1.1 403 Acc\xe8s interdit", 403, "Accès interdit"),
    ],
)
def test_status_lines(line: bytes, status: int, reason: str) -> None:
    for end in (b"\r\n", b"\n"):
        message = parsed(line + end + b"A: 1" + end + end + b"body")
        assert (message.status, message.reason, message.headers, message.body) == (
            status,
            reason,
            [(b"A", b"1")],
            b"body",
        )


def test_headers_keep_order_spelling_and_repeats() -> None:
    message = parsed(b"HTTP/1.1 200 OK\r\nset-cookie: a=1\r\nSet-Cookie:b=2\r\nLINK: <x>; a=b:c\r\n\r\n")
    assert message.headers == [(b"set-cookie", b"a=1"), (b"Set-Cookie", b"b=2"), (b"LINK", b"<x>; a=b:c")]


def test_folded_lines_are_joined_and_lines_without_colon_left_out() -> None:
    message = parsed(b"HTTP/1.1 200 OK\r\n lost\r\nA: one\r\n\ttwo\r\nnonsense\r\n: empty\r\nB:\r\n three\r\n\r\nx")
    assert message.headers == [(b"A", b"one two"), (b"B", b"three")]


def test_a_value_cannot_smuggle_a_header() -> None:
    message = parsed(b"HTTP/1.1 200 OK\r\nA: x\rSet-Cookie: y\0z\r\n\r\n")
    assert message.headers == [(b"A", b"x Set-Cookie: y z")]


def test_no_status_line_is_status_zero() -> None:
    message = parsed(b"Content-Type: text/html\r\nServer: x\r\n\r\n<p>")
    assert (message.status, len(message.headers), message.body) == (0, 2, b"<p>")


@pytest.mark.parametrize(
    "block", [b"", b"\r\n\r\n", b"<html>\n\n", b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", b"plain"]
)
def test_what_is_no_answer(block: bytes) -> None:
    assert parse_response(block) is None


def test_a_head_without_end() -> None:
    assert parsed(b"HTTP/1.1 304 Not Modified\r\nETag: x").headers == [(b"ETag", b"x")]
    assert parse_response(b"HTTP/1.1 200 OK\r\n" + b"a" * (2 << 20)) is None


def test_interim_answers_are_passed_over() -> None:
    block = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nA: 1\r\n\r\nbody"
    message = parsed(block)
    assert (message.status, message.headers, message.body) == (200, [(b"A", b"1")], b"body")
    assert parsed(b"HTTP/1.1 101 Switching\r\n\r\nHTTP/frames").status == 101


def test_the_body_begins_after_the_first_empty_line_of_either_kind() -> None:
    assert parsed(b"HTTP/1.1 200 OK\nA: 1\n\nx\r\n\r\ny").body == b"x\r\n\r\ny"
    assert parsed(b"HTTP/1.1 200 OK\r\nA: 1\r\n\r\nx\n\ny").body == b"x\n\ny"


def test_an_empty_line_too_many_goes_only_where_the_length_says_so() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
    assert parsed(head + b"\r\nbody").body == b"body"
    assert parsed(head + b"\r\nbodies").body == b"\r\nbodies"


def chunked(body: bytes) -> bytes:
    return parsed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n" + body).body


@pytest.mark.parametrize(
    ("wire", "plain"),
    [
        (b"4\r\nWiki\r\n5\r\npedia\r\n0\r\n\r\n", b"Wikipedia"),
        (b"4;name=x\r\nWiki\r\n0\r\n\r\n", b"Wiki"),
        (b"4  \r\nWiki\r\n000\r\n\r\n", b"Wiki"),
        (b"a\r\n0123456789\r\n0\r\nExpires: now\r\nX: y\r\n\r\n", b"0123456789"),
        (b"4\r\nWiki\r\n0\r\n", b"Wiki"),
        (b"4\r\nWiki\r\n0\r\n\r\n\r\n", b"Wiki"),
        (b"4\nWiki\n0\n\n", b"Wiki"),
        (b"0\r\n\r\n", b""),
        (b"4\r\nWiki\r\n", b"Wiki"),
        (b"4\r\nWiki\r\n5\r\npe", b"Wikipe"),
        (b"4\r\nWiki\r\n5", b"Wiki"),
    ],
)
def test_chunked_framing_is_removed(wire: bytes, plain: bytes) -> None:
    assert chunked(wire) == plain


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        b"<html>decoded already</html>",
        b"12\r\nis the first line of a text",
        b"4\r\nWikipedia\r\n0\r\n\r\n",
        b"4\r\nWiki\r\n0\r\n\r\n<html>more</html>",
        b"4\r\nWiki\r\nnot a size line at all",
        b"4\r\nWiki\r\n0\r\nno trailer\r\n\r\n",
        b"-4\r\nWiki\r\n0\r\n\r\n",
        b"face\r\nvalue",
    ],
)
def test_framing_that_does_not_hold_keeps_the_bytes(wire: bytes) -> None:
    assert chunked(wire) == wire


@given(st.lists(st.binary(min_size=1, max_size=50)))
def test_chunking_round_trip(parts: list[bytes]) -> None:
    wire = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    assert dechunk(wire) == b"".join(parts)


@given(st.binary(max_size=300))
def test_nothing_recorded_raises(block: bytes) -> None:
    for start in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"):
        parse_response(start + block)
    for coding in (b"gzip", b"br", b"deflate", b"zstd", b"gzip, br"):
        for magic in (b"", b"\x1f\x8b\x08\0\0\0\0\0\0\3", b"\x28\xb5\x2f\xfd", b"\x78\x9c"):
            decode_content(magic + block, [(b"Content-Encoding", coding)], LIMIT)


def test_masked_headers_stay_and_say_nothing_of_the_body() -> None:
    head = b"HTTP/1.1 200 OK\r\nX-Crawler-content-encoding: gzip\r\nX-Crawler-Transfer-Encoding: chunked\r\n"
    message = parsed(
        head + b"X-Crawler-Content-Length: 99\r\nX-Crawler-Id: 7\r\nContent-Length: 9\r\n\r\n4\r\nWiki\r\n"
    )
    assert message.body == b"4\r\nWiki\r\n"
    assert message.headers[0] == (b"X-Crawler-content-encoding", b"gzip")
    assert decode_content(message.body, message.headers, LIMIT) == (message.body, "")


def raw_deflate(text: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(text) + packer.flush()


CODINGS = {
    b"gzip": gzip.compress(TEXT),
    b"x-gzip": gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]),
    b"GZIP": gzip.compress(TEXT) + b"garbage after the member",
    b"br": brotli.compress(TEXT),
    b"deflate": zlib.compress(TEXT),
    b"Deflate": raw_deflate(TEXT),
    b"zstd": zstandard.compress(TEXT),
    b"gzip, br": brotli.compress(gzip.compress(TEXT)),
    b"br,gzip": gzip.compress(brotli.compress(TEXT)),
}


@pytest.mark.parametrize("coding", CODINGS)
def test_codings_are_removed_and_named(coding: bytes) -> None:
    plain, applied = decode_content(CODINGS[coding], [(b"content-encoding", coding)], LIMIT)
    assert plain == TEXT
    assert applied == coding.decode().lower().removeprefix("x-").replace(",gzip", ", gzip")
    assert detect_coding(CODINGS[coding], [(b"content-encoding", coding)]) == applied


@pytest.mark.parametrize("coding", [b"gzip", b"br", b"deflate", b"zstd", b"gzip, br", b"utf-8", b"identity", b""])
@pytest.mark.parametrize("body", [TEXT, b"", b"ok", b"\x1f\x8b"])
def test_a_plain_body_below_a_coding_header_stays(coding: bytes, body: bytes) -> None:
    assert decode_content(body, [(b"Content-Encoding", coding)], LIMIT) == (body, "")
    assert detect_coding(body * 1000, [(b"Content-Encoding", coding)]) == ""


@pytest.mark.parametrize("coding", [b"br", b"deflate", b"zstd"])
def test_gzip_under_another_name_is_gzip(coding: bytes) -> None:
    assert decode_content(gzip.compress(TEXT), [(b"Content-Encoding", coding)], LIMIT) == (TEXT, "gzip")


def test_without_a_coding_header_gzip_is_the_payload_itself() -> None:
    packed = gzip.compress(TEXT)
    assert decode_content(packed, [(b"Content-Type", b"application/gzip")], LIMIT) == (packed, "")


@pytest.mark.parametrize("coding", [b"gzip", b"br", b"deflate", b"zstd"])
def test_a_cut_body_gives_what_can_be_decoded(coding: bytes) -> None:
    text = b"".join(b"<p>Paragraph %d of many.</p>" % (n * 7919 % 10007) for n in range(20000))
    pack = {b"gzip": gzip.compress, b"br": brotli.compress, b"deflate": zlib.compress, b"zstd": zstandard.compress}[
        coding
    ]
    packed = pack(text)
    plain, applied = decode_content(packed[: len(packed) // 2], [(b"Content-Encoding", coding)], LIMIT)
    assert applied == coding.decode()
    assert len(plain) > len(text) // 10
    assert text.startswith(plain)


@pytest.mark.parametrize("coding", [b"gzip", b"br", b"deflate", b"zstd"])
def test_a_bomb_is_refused_and_its_limit_is_exact(coding: bytes) -> None:
    pack = {b"gzip": gzip.compress, b"br": brotli.compress, b"deflate": zlib.compress, b"zstd": zstandard.compress}[
        coding
    ]
    headers = [(b"Content-Encoding", coding)]
    assert len(decode_content(pack(b"\0" * LIMIT), headers, LIMIT)[0]) == LIMIT
    for size in (LIMIT + 1, 40 * LIMIT):
        with pytest.raises(PayloadError) as refused:
            decode_content(pack(b"\0" * size), headers, LIMIT)
        assert refused.value.reason == "payload-too-large"
        assert detect_coding(pack(b"\0" * size), headers) == coding.decode()


def test_a_bomb_of_many_members_is_refused() -> None:
    with pytest.raises(PayloadError):
        decode_content(gzip.compress(b"\0" * LIMIT) * 20, [(b"Content-Encoding", b"gzip")], LIMIT)
