"""Policies: reading them, what they block, and the same policy under any spelling."""

import gzip
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webemu.emulator.blocklist import Blocklist
from webemu.emulator.errors import BadRequest
from webemu.emulator.ngrams import NGRAM_WORDS, hash_ngrams
from webemu.emulator.policy import Blocked, Policy, parse_policy, policy_fingerprint, policy_from_json, policy_to_json
from webemu.emulator.session import encode_inline_policy, parse_session
from webemu.emulator.warc_range import MalformedWarcRange, read_record_headers
from webemu.emulator.weather import RATES, Latency


def test_nothing_said_is_the_usual() -> None:
    assert policy_from_json({}) == Policy() == policy_from_json({"blocked": None, "weather": {}})
    assert policy_to_json(Policy()) == {}
    assert not Policy().restricts_content


def test_a_policy_survives_json() -> None:
    document = {
        "task": "t",
        "as_of": "2024-05-01T00:00:00Z",
        "seed": 9,
        "blocked": {"domains": ["a.example"], "texts": ["one", "two"]},
        "budget": {"searches": 0},
        "weather": {"errors": 0.5, "latency": {"kind": "uniform", "ms": 3.0, "spread": 1.0}},
    }
    policy = policy_from_json(document)
    assert policy.as_of == datetime(2024, 5, 1, tzinfo=UTC)
    assert policy.weather.latency == Latency("uniform", 3.0, 1.0)
    assert policy_to_json(policy) == document
    assert policy_from_json(policy_to_json(policy)) == policy


def test_identity_is_of_what_is_meant() -> None:
    policy = policy_from_json({"blocked": {"domains": ["b", "a"]}, "seed": 1, "as_of": "2024-01-02"})
    two = policy_from_json({"as_of": "20240102", "seed": 1, "blocked": {"domains": ["a", "b", "a"], "urls": []}})
    assert policy_fingerprint(policy) == policy_fingerprint(two)
    assert policy_fingerprint(policy) != policy_fingerprint(
        policy_from_json({"blocked": {"domains": ["a"]}, "seed": 1})
    )


@pytest.mark.parametrize(
    "value",
    [{"x": 1}, {"budget": {"searches": True}}, {"blocked": {"texts": [""]}}, {"weather": {"resets": float("nan")}},
     {"marks": "no"}, {"task": "x" * 201}, {"seed": 1.5}, "text", None],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(value: Any) -> None:
    with pytest.raises(BadRequest):
        policy_from_json(value)


NAMES = ["blocked", "budget", "weather", "domains", "latency", "seed", *RATES]
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES), inner),
)


@given(JSON)
def test_any_json_is_a_policy_or_refused(value: Any) -> None:
    with suppress(BadRequest):
        assert policy_from_json(policy_to_json(policy_from_json(value))) == policy_from_json(value)


def test_a_policy_rides_in_a_name() -> None:
    session = parse_session(encode_inline_policy(b'{"as_of": "2024-01-02", "marks": false}') + ";at=2025")
    assert session.policy == parse_policy(b'{"as_of": "2024-01-02", "marks": false}')
    assert (session.at_time, session.sends_debug_headers) == (datetime(2024, 1, 2, tzinfo=UTC), False)
    assert session.id.startswith("wp-")
    for bad in ("wp-!", "wp-e30x", "wp-W10"):
        with pytest.raises(BadRequest):
            parse_session(bad)


LIST = Blocklist(
    Blocked(
        domains=("*.Bad.example", "https://worse.example/x", "münchen.example"),
        urls=("https://a.example/Path?b=2&a=1", "c.example/page/"),
        patterns=("d.example/*/secret-*", "https://e.example/*.pdf"),
    )
)


@pytest.mark.parametrize(
    "url",
    [
        "http://bad.example/", "https://www.bad.example:8443/x", "https://worse.example/", "https://xn--mnchen-3ya.example/",
        "http://www.a.example/path?a=1&b=2", "https://a.example/Path?b=2&a=1&utm_source=x", "http://c.example/page",
        "https://d.example/a/secret-b", "http://D.example/x/y/SECRET-", "https://e.example/x/y.pdf", "https://e.example/%2e%2e.pdf",
        "https://web.archive.org/web/2024id_/http://bad.example/x", "https://web.archive.org/web/2024/www.bad.example/",
        "https://cache.example/search?q=cache:abc:bad.example/x&hl=en", "https://p.example/?u=https%3A%2F%2Fworse.example%2Fy",
        "https://p.example/?u=https%253A%252F%252Fworse.example", "https://p.example/c.example/page?x=1&y=http://c.example/page/",
    ],
)  # fmt: skip
def test_blocked_in_any_spelling(url: str) -> None:
    assert LIST.blocks_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://notbad.example/", "https://bad.example.org/", "https://a.example/path?a=1", "https://c.example/page/2",
        "https://d.example/secret-b", "http://e.example/x.pdf", "https://e.example/pdf", "https://b.example/bad",
    ],
)  # fmt: skip
def test_what_is_beside_it_is_not(url: str) -> None:
    assert not LIST.blocks_url(url)


def test_no_pattern_takes_long() -> None:
    slow = Blocklist(Blocked(patterns=("*a" * 40 + "b",)))
    assert not slow.blocks_url("https://x.example/" + "a" * 3000)


def test_texts_whatever_their_case_and_spaces() -> None:
    listed = Blocklist(Blocked(texts=("The  ﬁnal\nAnswer",)))
    assert listed.blocks_text("say THE FINAL\t answer, thus")
    assert not listed.blocks_text("the finally answer")
    assert listed.blocks_text("The\u00a0fi\u200bnal—answer!")
    assert not Blocklist(Blocked()).blocks_text("")


def test_short_texts_keep_their_signs_and_spaces() -> None:
    signs, words = Blocklist(Blocked(texts=("C++",))), Blocklist(Blocked(texts=("Old Marl",)))
    assert signs.blocks_text("in c++ it is")
    assert not signs.blocks_text("in c it is")
    assert words.blocks_text("the old-marl inn")
    assert not words.blocks_text("so ld ma rl")


def test_many_texts_are_looked_for_together() -> None:
    few, many = (tuple(f"the sentence of number {n} is this" for n in range(count)) for count in (3, 2000))
    for texts in (few, many):
        listed = Blocklist(Blocked(texts=texts))
        assert listed.blocks_text(f"Then: {texts[-1].upper()}.")
        assert listed.blocks_text(texts[0][::-1])
        assert not listed.blocks_text("the sentence of number 99999 is this")


def test_runs_of_words() -> None:
    words = [f"word{number}" for number in range(NGRAM_WORDS + 4)]
    listed = Blocklist(Blocked(ngrams=tuple(hash_ngrams(" ".join(words[2 : 2 + NGRAM_WORDS])))))
    assert listed.blocks_text("Before, " + ", ".join(words).upper() + "!")
    assert not listed.blocks_text(" ".join(words[: NGRAM_WORDS - 1]) + " other " + " ".join(words[NGRAM_WORDS:]))
    assert list(hash_ngrams("too few words")) == []
    assert len(list(hash_ngrams(" ".join(words)))) == 5


def record(url: str, body: bytes = b"body", kind: str = "response") -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body + b"\r\n\r\n"


def test_records_of_a_part_of_a_file() -> None:
    first_bytes, two = record("http://a.example/"), record("http://b.example/", b"WARC/1.0\r\n\r\n" * 9)
    urls = ["http://a.example/", "http://b.example/"]
    for archive in (
        first_bytes + two,
        gzip.compress(first_bytes) + gzip.compress(two),
        gzip.compress(first_bytes + two),
    ):
        for size in (1, 7, 100_000):
            pieces = [archive[at : at + size] for at in range(0, len(archive), size)]
            assert [head["warc-target-uri"] for head in read_record_headers(pieces)] == urls
        for start in (1, 12, len(archive) - 20):
            with pytest.raises(MalformedWarcRange):
                list(read_record_headers([archive[start:]]))
    cut = first_bytes + two[:-60]
    assert len(list(read_record_headers([cut]))) == 2
    with pytest.raises(MalformedWarcRange):
        list(read_record_headers([first_bytes + two[:20]]))
