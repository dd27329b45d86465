"""Converted documents that are kept, and how many."""

from webemu.index.recent_conversions import RecentConversions


def test_equal_inputs_are_converted_once_and_others_are_not_mixed_up() -> None:
    calls: list[str] = []
    recent = RecentConversions()

    def convert(*inputs: str) -> str:
        return recent.get_or_convert(lambda: calls.append("") or "|".join(inputs), *inputs)

    assert [convert("a", "b"), convert("a", "b"), convert("ab", ""), convert("a\udc80", "b")] == [
        "a|b", "a|b", "ab|", "a\udc80|b",
    ]  # fmt: skip
    assert len(calls) == 3


def test_the_least_recently_used_makes_room() -> None:
    calls: list[str] = []
    recent = RecentConversions(max_chars=10)

    def convert(text: str) -> str:
        return recent.get_or_convert(lambda: calls.append(text) or text, text)

    for text in ("aaaa", "bbbb", "aaaa", "cccc", "aaaa", "bbbb", "d" * 11, "d" * 11):
        assert convert(text) == text
    assert calls == ["aaaa", "bbbb", "cccc", "bbbb", "d" * 11, "d" * 11]
