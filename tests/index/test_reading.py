"""Reading result records: the compiled reader and the plain one say the same, and damage harms nobody."""

import struct
from collections.abc import Callable, Sequence, Sized
from contextlib import suppress
from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webemu.emulator import ranking
from webemu.emulator.ranking import FOREVER
from webemu.index import fragments, record_reader, records
from webemu.index.analysis import extract_terms
from webemu.index.records import PASSAGE_CHARACTERS, analyze_text, encode_record, hash_term, read_hit
from webemu.index.snippets import find_question_kind

WORDS = 'river port bridge mayor opened Überfahrt 港 "quoted" the of a.b C++ naïve'.split()
compiled = pytest.importorskip("webemu.index._reading", reason="there was no compiler where this was installed")

texts = st.lists(st.sampled_from([*WORDS, "filler " * 30, "\n"]), max_size=60).map(" ".join)


@given(texts, texts, st.lists(st.sampled_from(WORDS), max_size=8), st.integers(0, 2**64 - 1))
def test_both_readers_say_the_same(title: str, text: str, query: Sequence[str], within: int) -> None:
    record = memoryview(encode_record("http://x.org/", title, -3, analyze_text(text)))
    hashes = [hash_term(term) for word in query for term in extract_terms(word)]
    rare = [((one, *hashes[:place:2]), 1 / 3 + 0.7 * place) for place, one in enumerate(hashes)]
    pairs = [(f"{one} {other}".lower().encode(), other.encode()) for one, other in pairwise(query)]
    assert compiled.match_features([record] * 2, rare, pairs) == record_reader.match_features([record] * 2, rare, pairs)
    for passages in (0, within & reading_mask(record)):
        assert compiled.result_fields(record, hashes, passages) == record_reader.result_fields(record, hashes, passages)


SENTENCES = st.lists(
    st.sampled_from([
        "The mayor of Wick opened it. ", "In 1204, St. Olaf came! ", 'He said "no". ', "J. K. Rowling vs. Dr. No? ",
        "港が開いた。", "次の橋！", "Überfahrt begann. Äpfel… ", "see a.b (x). [1] ", "river " * 20, "\n", "x" * 70,
        "Это город. Он стар. ", "it’s ‘so’. ”Then” ",
    ]),
    max_size=80,
).map("".join)  # fmt: skip


BEGINNINGS = st.lists(
    st.tuples(st.lists(st.sampled_from([one.lower().encode() for one in WORDS] + [b"", b"x", "橋".encode(), b"f "]),
                       max_size=3).map(tuple), st.integers(0, 9000)), max_size=6
)  # fmt: skip


@given(SENTENCES, st.lists(st.sampled_from(WORDS), max_size=3), BEGINNINGS, st.integers(0, 3), st.integers(1, 700))
def test_both_readers_choose_the_same_fragments(
    text: str, query: Sequence[str], words: Sequence[tuple[tuple[bytes, ...], int]], kind: int, limit: int
) -> None:
    record = memoryview(encode_record("http://x.org/", "A title", -3, analyze_text(text)))
    hashes = [hash_term(term) for word in query for term in extract_terms(word)]
    snippet = record_reader.result_fields(record, hashes, 0)[2]
    snippet_shown = compiled.choose_fragments(record, snippet, words, kind, limit)
    assert snippet_shown == fragments.choose_fragments(record, snippet, words, kind, limit)
    text_shown = orjson.loads(b'"%s"' % snippet_shown)
    assert len(text_shown) <= max(limit, PASSAGE_CHARACTERS)
    page = "".join(text.split())
    assert all("".join(one.split()) in page for one in text_shown.split(" … ")) or "…" in text
    assert compiled.choose_fragments(record, b"elsewhere", words, kind, limit) == b"elsewhere"


def choose(text: str, words: dict[str, int], kind: int = fragments.ANY, limit: int = 200) -> str:
    """Return what a page shows for words with weights, of which the first finds the passage."""
    record = memoryview(encode_record("http://x.org/", "A title", -3, analyze_text(text)))
    hashes = [hash_term(term) for word in words for term in extract_terms(word)]
    snippet = record_reader.result_fields(record, hashes, 0)[2]
    weighed = [((word.encode(),), weight) for word, weight in words.items()]
    return compiled.choose_fragments(record, snippet, weighed, kind, limit).decode()


FILLER = "Nothing of note happened in the town for all these long and quiet years that nobody remembers. "


def test_sentences_that_are_apart_are_two_fragments() -> None:
    text = FILLER + "The lighthouse was built of stone. " + FILLER * 4 + "Its keeper was Ada Holm. " + FILLER
    assert (
        choose(text, {"lighthouse": 5, "keeper": 5}) == "The lighthouse was built of stone. … Its keeper was Ada Holm."
    )


def test_a_question_is_shown_what_it_asks_for() -> None:
    sentences = ("stands on a pier", "was lit in 1904", "is kept by Ada Holm", "has 3 floors")
    text = FILLER.join(f"The lighthouse {one}. " for one in sentences)
    for kind, answer in ((fragments.YEAR, "1904"), (fragments.NAME, "Ada Holm"), (fragments.NUMBER, "1904")):
        assert answer in choose(text, {"lighthouse": 5}, kind, 60)
    assert "pier" in choose(text, {"lighthouse": 5}, limit=60)


def test_no_more_words_than_there_are_bits() -> None:
    record = memoryview(encode_record("http://x.org/", "A title", -3, analyze_text("some text")))
    with pytest.raises(ValueError, match="more words"):
        compiled.choose_fragments(record, b"some text", [((b"x",), 1)] * 33, 0, 100)
    for words in ([1], [(b"x", 1)], [((1,), 1)], [((b"x",), "1")], 3):
        with pytest.raises(TypeError):
            compiled.choose_fragments(record, b"some text", words, 0, 100)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was the pier opened?", fragments.YEAR),
        ("In which year did Ada Holm die", fragments.YEAR),
        ("how many visitors had the museum", fragments.NUMBER),
        ("What is the population of Wick?", fragments.NUMBER),
        ("who designed the old lighthouse", fragments.NAME),
        ("Which Polish city is on the Vistula?", fragments.NAME),
        ("lighthouse keeper", fragments.ANY),
        ("whenever somewhere", fragments.ANY),
    ],
)
def test_the_kind_of_a_question(question: str, kind: int) -> None:
    assert find_question_kind(question) == kind


def reading_mask(record: memoryview) -> int:
    """Bits of the passages that there are."""
    return int((1 << struct.unpack_from("<H", record, 2)[0]) - 1)


@given(texts, st.data())
def test_a_damaged_record_is_refused_or_read(text: str, data: st.DataObject) -> None:
    record = bytearray(encode_record("http://x.org/", "A title", 1, analyze_text(text)))
    intact = memoryview(bytes(record))
    for _ in range(data.draw(st.integers(1, 4))):
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    cut = memoryview(record)[: data.draw(st.integers(0, len(record)))]
    asks: list[Callable[[], Sized]] = [
        lambda: compiled.match_features([cut] * 3, [((hash_term("river"),), 1.0)], [(b"river port",)]),
        lambda: compiled.result_fields(cut, [hash_term("river")], 2**63),
        lambda: (
            compiled.choose_fragments(
                cut, record_reader.result_fields(intact, [], 0)[2], [((b"river",), 9), ((b"port",), 5)], 3, 400
            )
            + b"..."
        ),
    ]
    for ask in asks:
        with suppress(ValueError):
            assert len(ask()) > 2


@pytest.mark.parametrize("arguments", [(), (1, 2, 3), (b"", (), 0, 1), (b"", None, 0), (b"", (), None)])
def test_what_is_no_record_is_refused(arguments: tuple[object, ...]) -> None:
    for read in (compiled.match_features, compiled.result_fields):
        with pytest.raises((TypeError, ValueError)):
            read(*arguments)


@given(
    st.lists(st.tuples(st.sampled_from([5, FOREVER]), st.integers(-3, 3), st.integers(0, 2**32 - 1)), max_size=40),
    st.data(),
)
def test_what_is_current_is_what_the_law_says(pages: list[tuple[int, int, int]], data: st.DataObject) -> None:
    rows = memoryview(b"".join(struct.pack("<qqII", *page, 0) for page in pages))
    docs = data.draw(st.lists(st.integers(0, len(pages) - 1), max_size=60)) if pages else []
    ranked = [(1.0, doc) for doc in docs]
    assert compiled.drop_duplicates(rows, ranked) == ranking.drop_duplicates(ranked, [pages[doc] for doc in docs])
    for beyond in (len(pages), 2**60):
        with pytest.raises(IndexError):
            compiled.drop_duplicates(rows, [*ranked, (1.0, beyond)])


def test_what_is_no_ranking_is_refused() -> None:
    rows = memoryview(struct.pack("<qqII", 1, 1, 1, 1))
    for wrong, error in (
        ([1], TypeError),
        ([(1.0, 0, 0)], TypeError),
        ([(1.0, "0")], TypeError),
        ([(1, -1)], OverflowError),
    ):
        with pytest.raises(error):
            compiled.drop_duplicates(rows, wrong)
    for less in ((), (rows,), (None, []), (rows, None)):
        with pytest.raises(TypeError):
            compiled.drop_duplicates(*less)


def test_what_is_asked_must_be_of_its_kind() -> None:
    record = encode_record("http://x.org/", "A title", 1, analyze_text("The river port"))
    for wrong in ([1], [(1,)], [(1, 1.0)], [(("a",), 1.0)], [((1,), "a")]):
        with pytest.raises(TypeError):
            compiled.match_features([record], wrong, ())
    with pytest.raises(TypeError):
        compiled.match_features([record], [((hash_term("river"),), 1.0)], [b"river port"])
    with pytest.raises(TypeError):
        compiled.match_features([record], [((hash_term("river"),), 1.0)], [("river port",)])
    with pytest.raises(TypeError):
        compiled.result_fields(record, ["river"], 0)
    with pytest.raises(OverflowError):
        compiled.result_fields(record, [], -1)


def test_results_are_read_with_it() -> None:
    assert records.result_fields is compiled.result_fields
    record = memoryview(encode_record("http://x.org/", "A title", 1, analyze_text("The river port")))
    hit_of = read_hit(record, 1, 2.0, [hash_term("river")])
    assert (hit_of.url, hit_of.title, hit_of.snippet) == ("http://x.org/", "A title", "The river port")
