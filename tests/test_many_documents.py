"""Documents of the benchmark of millions: always the same, all different, and with words that grow as they should."""

from collections import Counter

import pytest

from benchmarks.many_documents import DocumentMaker, GrowthCurve, Passage, draw_repeated, spell, split_passages

WORDS = "the river runs past a mill and 1902 is carved above its door where ferns grow".split()
PASSAGES = [
    Passage(f"Mill {number}", " ".join(WORDS[(number * step) % len(WORDS)] for step in range(1, 60)))
    for number in range(50)
]


def test_a_document_depends_on_its_number_the_seed_and_the_texts_alone() -> None:
    backwards = {number: DocumentMaker(PASSAGES, 1).document(number) for number in (99, 98, 1, 0)}
    maker = DocumentMaker(PASSAGES, 1)
    assert all(maker.document(number) == document for number, document in backwards.items())
    assert DocumentMaker(PASSAGES, 2).document(99) != backwards[99]


def test_documents_have_urls_of_their_own_and_link_to_earlier_ones() -> None:
    maker = DocumentMaker(PASSAGES, 1)
    documents = [maker.document(number) for number in range(1000)]
    titles_by_url = {str(document["url"]): document["title"] for document in documents}
    assert len(titles_by_url) == 1000
    linking = [document for document in documents if "links" in document]
    assert len(linking) == 249
    for document in linking:
        links = document["links"]
        assert isinstance(links, list)
        assert all(titles_by_url[link["target"]] == link["anchor"] for link in links)


def test_words_are_spelled_differently() -> None:
    assert len({spell(number) for number in range(100_000)}) == 100_000
    assert all(spell(number).isalpha() for number in range(100))


@pytest.mark.parametrize("curve", [GrowthCurve(3.0, 0.7), GrowthCurve(20.0, 0.55)])
def test_distinct_things_grow_like_the_curve_and_few_are_frequent(curve: GrowthCurve) -> None:
    things = [draw_repeated(place, curve, 5) for place in range(60_000)]
    for places in (2000, 60_000):
        expected = sum(map(curve.chance_of_new, range(places)))
        assert len(set(things[:places])) == pytest.approx(expected, rel=0.05)
    by_frequency = [count for _, count in Counter(things).most_common()]
    singles = by_frequency.count(1) / len(by_frequency)
    assert by_frequency[0] > 100 * by_frequency[len(by_frequency) // 2]
    assert 0.3 < singles < 0.7  # half of them at a constant rate of new things, fewer as it falls


def test_passages_are_whole_lines() -> None:
    text = "\n".join(["one line of seven words is here"] * 40)
    passages = list(split_passages(text))
    assert "\n".join(passages) == text
    assert {passage.count("\n") + 1 for passage in passages} == {15, 10}
