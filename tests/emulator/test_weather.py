"""Weather: drawn alike for the same asker, at the rates that were asked for, and what noise makes of results."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import isfinite

import pytest

from webemu.emulator import keyed_random
from webemu.emulator.keyed_random import KeyedRandom
from webemu.emulator.noise import has_ranking_noise, perturb_results, vary_query
from webemu.emulator.types import Hit
from webemu.emulator.weather import ERROR_STATUSES, FAIR, Latency, Weather, curriculum_rate, draw_fault, fault_error

DRAWS = [KeyedRandom(f"seed {number}") for number in range(4000)]


def test_a_draw_hangs_on_all_of_what_it_is_about() -> None:
    stream = KeyedRandom("5\0session").derive("request", 0)
    assert stream.uniform("x") == KeyedRandom("5\0session").derive("request", 0).uniform("x")
    other_streams = [
        KeyedRandom("6\0session").derive("request", 0),
        KeyedRandom("5\0session").derive("request", 1),
        KeyedRandom("5\0s").derive("request", 0),
    ]
    assert len({stream.uniform("x"), stream.uniform("y"), *(other.uniform("x") for other in other_streams)}) == 5
    assert stream.permute(range(9), "a") == stream.permute(range(9), "a") != stream.permute(range(9), "b")


@pytest.mark.parametrize("integer", [0, 1, 2**55, 2**56 - 8, 2**56 - 5, 2**56 - 4, 2**56 - 1])
def test_uniform_numbers_are_below_1_for_every_digest(monkeypatch: pytest.MonkeyPatch, integer: int) -> None:
    class Digest:
        def digest(self) -> bytes:
            return integer.to_bytes(7, "big") + b"\xff"

    monkeypatch.setattr(keyed_random, "blake2b", lambda text, digest_size: Digest())
    draws = KeyedRandom("any key")
    # Only the four integers whose quotient rounds to 1 have another value than the quotient.
    assert draws.uniform() == (1 - 2**-53 if integer >= 2**56 - 4 else integer / 2**56)
    assert all(draws.choice(range(count)) <= count - 1 for count in (1, 3, 10, 2**20))
    assert isfinite(draws.normal())


def test_faults_come_at_their_rates() -> None:
    weather = Weather(timeouts=0.1, errors=0.2, rate_limits=0.05, resets=0.1, truncated=0.15)
    counts = Counter(draw_fault(weather, draws) for draws in DRAWS)
    expected = {"timeout": 0.1, "error": 0.2, "rate-limit": 0.05, "reset": 0.1, "truncated": 0.15, None: 0.4}
    assert {kind: pytest.approx(count / len(DRAWS), abs=0.03) for kind, count in counts.items()} == expected
    assert {draw_fault(FAIR, draws) for draws in DRAWS[:100]} == {None}
    assert {draw_fault(Weather(resets=1), draws) for draws in DRAWS} == {"reset"}


def test_a_fault_has_the_status_it_is() -> None:
    errors = [fault_error("error", draws) for draws in DRAWS[:100]]
    assert {error.status for error in errors if error} == set(ERROR_STATUSES)
    limit = fault_error("rate-limit", DRAWS[0])
    assert limit is not None
    assert (limit.status, limit.reason) == (429, "rate-limited")
    assert fault_error("timeout", DRAWS[0]) is None


def test_latency_is_distributed_as_named() -> None:
    assert {Latency("constant", 7).sample_ms(draws) for draws in DRAWS[:50]} == {7.0}
    uniform = sorted(Latency("uniform", 50, 20).sample_ms(draws) for draws in DRAWS)
    assert 30 <= uniform[0] < 31
    assert 69 < uniform[-1] < 70
    heavy = sorted(Latency("lognormal", 100, 1.0).sample_ms(draws) for draws in DRAWS)
    assert heavy[2000] == pytest.approx(100, rel=0.1)
    assert heavy[int(0.8413 * 4000)] == pytest.approx(271.8, rel=0.15)
    assert Latency("lognormal", 60_000, 60_000).sample_ms(DRAWS[1]) <= 60_000


def test_a_curriculum_grows_slowly_first() -> None:
    steps = [curriculum_rate(0.1, 0.9, progress / 10) for progress in range(11)]
    assert (steps[0], steps[-1]) == (pytest.approx(0.1), pytest.approx(0.9))
    rises = [later - earlier for earlier, later in pairwise(steps)]
    assert rises == sorted(rises)
    assert rises[0] < rises[-1] / 3


def hits(count: int, start: int = 0) -> list[Hit]:
    numbers = range(start, start + count)
    return [Hit(n, 100.0 - (n - start), b"http://a.example/%d" % n, b"t", b"s", "2024-01-01") for n in numbers]


def perturb(weather: Weather, count: int = 40, about: str = "a") -> tuple[list[int], set[str]]:
    perturbed, done = perturb_results(
        hits(count), weather, KeyedRandom("engine"), KeyedRandom(about), lambda: iter(hits(100, 1000))
    )
    assert [hit.score for hit in perturbed] == sorted((hit.score for hit in perturbed), reverse=True)
    return [hit.doc for hit in perturbed], done


def test_fair_weather_leaves_results_alone() -> None:
    assert not has_ranking_noise(FAIR)
    assert perturb(FAIR) == (list(range(40)), set())


def test_results_are_dropped_replaced_shuffled() -> None:
    dropped, done = perturb(Weather(dropped=0.3))
    assert done == {"dropped"}
    assert dropped == sorted(dropped)
    assert 20 < len(dropped) < 36
    replaced, done = perturb(Weather(replaced=0.5))
    wrong = [doc for doc in replaced if doc >= 1000]
    assert (done, len(replaced), wrong) == ({"replaced"}, 40, list(range(1000, 1000 + len(wrong))))
    assert 12 < len(wrong) < 28
    shuffled, done = perturb(Weather(shuffled=1))
    assert done == {"shuffled"}
    assert shuffled != list(range(40))
    assert [sorted(shuffled[at : at + 10]) for at in range(0, 40, 10)] == [
        list(range(at, at + 10)) for at in range(0, 40, 10)
    ]
    assert perturb(Weather(replaced=1))[0] == list(range(1000, 1040))
    assert perturb(Weather(dropped=1))[0] == []


def test_a_deeper_page_has_the_same_first() -> None:
    weather = Weather(replaced=0.3, shuffled=0.5, variation=0.4)
    assert perturb(weather, 40)[0][:10] == perturb(weather, 10)[0]


def test_an_engine_varies_by_session_and_not_by_request() -> None:
    weather = Weather(variation=0.9)
    assert perturb(weather, about="a") == perturb(weather, about="b")
    assert perturb(weather)[0] != list(range(40))
    assert perturb(replace(weather, variation=0.0001))[0] == list(range(40))


def test_another_query_differs_in_a_word() -> None:
    text = vary_query("the river port", ["Harbour bridge of Aldmere", "river"], KeyedRandom("x"))
    words = text.split()
    assert len(words) == 3
    assert len({"the", "river", "port"} & set(words)) == 2
    assert vary_query("river port", [], KeyedRandom("x")) == "river"
    assert vary_query("", ["Harbour"], KeyedRandom("x")) == ""
