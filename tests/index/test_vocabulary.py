"""The words nearest to a mistyped one, of titles and of texts."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
import zstandard
from rapidfuzz.distance import OSA

from webemu.index import vocabulary
from webemu.index.blobs import BlobWriter
from webemu.index.vocabulary import SAMPLE_CHARACTERS, count_words, sample_texts, write_words
from webemu.index.vocabulary_reader import Vocabulary

TITLES = ["Lighthouse museum", "The lighthouse of Aldmere", "Łódź"]


def write_vocabulary(folder: Path, titles: Sequence[str], texts: Sequence[str] = ()) -> Vocabulary:
    count_words(folder / "word_counts.txt", titles, texts)
    write_words(folder / "words.txt", [folder / "word_counts.txt"])
    return Vocabulary(folder / "words.txt")


@pytest.mark.parametrize(
    ("word", "nearest"),
    [
        *[("ligthouse", "lighthouse"), ("MUSEM", "museum"), ("aldmeer", "aldmere"), ("museum", None), ("zebra", None)],
        *[("teh", "the"), ("łodź", "łódź"), ("harbuor", "harbour"), ("lantren", None), ("", None)],
    ],
)
def test_the_nearest_word_is_another_one(tmp_path: Path, word: str, nearest: str | None) -> None:
    words = write_vocabulary(tmp_path, TITLES, ["one harbour", "two: HARBOUR, harbour", "a lantern"])
    assert next(iter(words.nearest(word)), None) == nearest


def test_of_words_as_near_the_frequent_one_is_first(tmp_path: Path) -> None:
    words = write_vocabulary(
        tmp_path, [], ["harder harden garden", "harder harden garden", "harden", "horde it harden"]
    )
    assert words.nearest("hardem") == ["harden", "harder", "garden"]


def test_every_word_within_two_edits_is_near(tmp_path: Path) -> None:
    random = Random(5)
    letters = "abcdeéжあ"
    words = sorted({"".join(random.choices(letters, k=random.randint(3, 9))) for _ in range(3000)})
    known_words = write_vocabulary(tmp_path, words)
    typed = ["".join(random.choices(letters, k=random.randint(1, 9))) for _ in range(300)]
    for word in typed:
        max_distance = 1 if len(word) < 6 else 2
        expected = {other for other in words if other != word and OSA.distance(word, other) <= max_distance}
        assert set(known_words.nearest(word)) == expected
    assert sum(len(known_words.nearest(word)) for word in typed) > 300


def test_no_words_are_near_where_there_are_none(tmp_path: Path) -> None:
    assert write_vocabulary(tmp_path, []).nearest("word") == []


def test_texts_are_chosen_evenly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with BlobWriter(tmp_path / "views") as views:
        for page in range(8):
            views.add(zstandard.ZstdCompressor().compress(f"Title\n{page} {'é' * 2 * SAMPLE_CHARACTERS}".encode()))
    # The last page is not searchable.
    assert [text[:1] for text in sample_texts(tmp_path, 7)] == [*"0123456"]
    assert {len(text) for text in sample_texts(tmp_path, 7)} == {SAMPLE_CHARACTERS}
    monkeypatch.setattr("webemu.index.vocabulary.SAMPLE_TEXTS", 4)
    assert [text[:1] for text in sample_texts(tmp_path, 7)] == ["0", "1", "3", "5"]
    assert list(sample_texts(tmp_path, 0)) == []


def test_counts_of_shards_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count_words(tmp_path / "a", ["Alder alder"], ["birch cedar", "birch elm"])
    count_words(tmp_path / "b", [], ["cedar elm fir", "elm"])
    assert (tmp_path / "a").read_text() == "2 alder\n2 birch\n1 cedar\n1 elm\n"
    write_words(tmp_path / "words.txt", [tmp_path / "a", tmp_path / "b"])
    assert (tmp_path / "words.txt").read_text().split() == ["elm", "alder", "birch", "cedar"]
    monkeypatch.setattr("webemu.index.vocabulary.MAX_WORDS", 1)
    count_words(tmp_path / "a", [], ["birch", "birch cedar", "elm"])
    assert (tmp_path / "a").read_text() == "2 birch\n1 cedar\n"
    write_words(tmp_path / "words.txt", [tmp_path / "a", tmp_path / "b"])
    assert (tmp_path / "words.txt").read_text() == "birch"


def test_words_of_plain_titles_are_those_of_all_others() -> None:
    random = Random(4)
    texts = ["".join(random.choices("abcXYZ019_-'. ", k=random.randint(0, 90))) for _ in range(300)]
    texts += ["y" * 29, "Y" * 30, "y" * 31, "y" * 33, "z" * 95]
    expected = {word for text in texts for word in vocabulary._WORD.findall(text.lower())}
    assert vocabulary._find_words(texts) == expected
    assert vocabulary._find_words([*texts, "l’été"]) == {*expected, "été"}
