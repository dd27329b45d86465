"""Similar texts: what counts as holding most of another, and what does not."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webemu.emulator.errors import BadRequest
from webemu.emulator.folding import fold_words
from webemu.emulator.policy import policy_from_json
from webemu.emulator.similarity import MAX_RUNS, SimilarTexts, list_runs, measure_resemblance

ARTICLE = (
    "The ferry Maren left Tarrow Point at dusk on the third of March 1961 with forty passengers and a cargo of slate. "
    "An hour later the lookout at Aldmere saw her lamps go out one after another. Divers found the wreck in 1974 "
    "beneath thirty metres of water; her bell hangs in the chapel of the fishermen since then, and rings on every "
    "third of March."
)
OTHER = (
    "The ferry left at dusk, and the harbour was quiet. Slate was shipped from here for a hundred years, and the "
    "chapel of the fishermen is a fine one, with a bell and a view of Tarrow Point. Buses leave the market every hour, "
    "and the museum is open from March."
)
CHINESE = "渡轮玛伦号于一九六一年三月三日黄昏离开塔罗角，船上有四十名乘客和一批石板，一小时后看守看见她的灯熄灭。"


def are_similar(text: str, page: str) -> bool:
    return SimilarTexts([list_runs(text)]).are_held_by(fold_words(page))


def replace_each(words: list[str], number: int) -> str:
    return " ".join(f"other{at}" if at % number == number - 1 else word for at, word in enumerate(words))


def test_most_of_a_text_is_found_among_other_words() -> None:
    menu = "Home News Weather Sport Shop Contact " * 200
    words = ARTICLE.split()
    assert are_similar(ARTICLE, f"{menu} {ARTICLE} {menu}")
    assert are_similar(ARTICLE, ARTICLE.upper().replace(" ", " – "))
    assert are_similar(ARTICLE, " ".join(reversed(ARTICLE.split(". "))))
    assert are_similar(ARTICLE, " ".join(words[: len(words) * 6 // 10]))
    assert are_similar(ARTICLE, replace_each(words, 8))
    assert are_similar(CHINESE, f"新闻：{CHINESE.replace('黄昏', '傍晚')} 更多")


def test_shared_phrases_are_not_similar() -> None:
    words = ARTICLE.split()
    assert not are_similar(ARTICLE, OTHER)
    assert not are_similar(ARTICLE, " ".join(words[: len(words) * 4 // 10]))
    assert not are_similar(ARTICLE, " ".join(sorted(words)))
    assert not are_similar(CHINESE, "渡轮每天从塔罗角出发，博物馆三月开放。")


def test_one_of_many_texts_is_found() -> None:
    texts = [f"text {one} of the many that a set of tasks names, each of words {one} of its own" for one in range(400)]
    similar = SimilarTexts(map(list_runs, [*texts, ARTICLE]))
    assert similar.are_held_by(fold_words(f"x {ARTICLE} y"))
    assert not similar.are_held_by(fold_words(OTHER))


@given(st.integers(0, 2**32), st.integers(2000, 6000))
def test_a_long_text_is_judged_by_a_part_of_its_runs(seed: int, words: int) -> None:
    """Runs at equal distances tell the share of all of them to a few percent."""
    keyed_random = random.Random(seed)
    text = [f"w{keyed_random.randrange(10**6)}" for _ in range(words)]
    assert are_similar(" ".join(text), " ".join(text[: words * 53 // 100]))
    assert not are_similar(" ".join(text), " ".join(text[: words * 47 // 100]))


def test_no_text_is_no_rule() -> None:
    assert not SimilarTexts(())
    assert not SimilarTexts(()).are_held_by("any words at all")
    assert measure_resemblance(set(), set()) == 0


@pytest.mark.parametrize("text", ["too few words", "eleven words are not enough to be compared with a page", "?!" * 20])
def test_texts_that_are_too_short_are_refused(text: str) -> None:
    with pytest.raises(BadRequest, match=r"blocked\.similar") as refused:
        policy_from_json({"blocked": {"similar": [text]}})
    assert "blocked.texts" in refused.value.action
    assert policy_from_json({"blocked": {"similar": [ARTICLE, "https://a.example/page"]}}).restricts_content


def test_a_set_of_texts_that_is_too_large_keeps_no_more_than_its_bound() -> None:
    runs = range(1000)
    similar = SimilarTexts(range(start, start + 1000) for start in range(0, 10**9, len(runs)))
    assert MAX_RUNS < similar.runs <= MAX_RUNS + len(runs)
