"""Tests which words of a query in prose are not wanted."""

from __future__ import annotations

import pytest

from tests.processor_time import limited
from webemu.emulator.negations import drop_unwanted_words


@pytest.mark.parametrize(
    ("text", "remaining"),
    [
        ("firewall tools other than iptables on Debian", "firewall tools on Debian"),
        ("twisted logging except for the legacy log module", "twisted logging module"),
        ("a loop, not while", "a loop,"),
        ("remove a package but not its files, quickly", "remove a package , quickly"),
        ("UDP instead of TCP rather than pipes", "UDP pipes"),
        ("cities on the Vistula, but do not mention Warsaw", "cities on the Vistula, but do"),
    ],
)
def test_what_is_not_wanted_is_left_out(text: str, remaining: str) -> None:
    assert drop_unwanted_words(text).split() == remaining.split()


@pytest.mark.parametrize("text", ["Other Than Human", "csv without index", "to be or not to be", "exceptions", ""])
def test_other_words_stay(text: str) -> None:
    assert drop_unwanted_words(text) == text


def test_many_cues_are_read_quickly() -> None:
    with limited(2):
        drop_unwanted_words("but not " * 500 + ", not " * 300)
