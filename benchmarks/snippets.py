"""Measures how often the snippets of the first five results show the answer of a question, for each length of snippets.

WEBEMU_SHARED=DIR python -m benchmarks.snippets [--show 20]

The pages are the paragraphs of DIR/data/ir/xquad_en among the passages of DIR/data/ir/hipporag_2wiki, the questions and
answers DIR/data/ir/xquad_en/answers.jsonl. Beside them: the passages of `/retrieve`, and, if bm25s is installed, BM25
over pieces of 100 words, shown whole. `--show N` prints N questions with what each length shows of the first result.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlencode

import orjson

from webemu.api.services import native
from webemu.emulator.snippet_style import SNIPPET_STYLES
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.evaluation import beir
from webemu.index.open import open_world

SHOWN_RESULTS = 5
"""Results whose snippets are read."""
PIECE_WORDS = 100
"""Words of a piece that bm25s ranks."""
SearchTexts = Callable[[str], Sequence[str]]
"""Returns the texts that a search shows of its first results."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the answers that count."""

    text: str
    answers: Sequence[str]

    def is_answered_by(self, shown_text: str) -> bool:
        """True if the words of an answer stand in the text."""
        words = f" {_normalize(shown_text)} "
        return any(f" {_normalize(answer)} " in words for answer in self.answers)


def _normalize(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def read_corpus(folder: Path) -> list[dict[str, str]]:
    """Return the documents of both sets, as BEIR has them."""
    lines = (folder / "xquad_en" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    passages = json.loads((folder / "hipporag_2wiki" / "corpus.json").read_text(encoding="utf-8"))
    passage_documents = [
        {"_id": f"wiki{number}", "title": one["title"], "text": one["text"]} for number, one in enumerate(passages)
    ]
    return [*map(json.loads, lines), *passage_documents]


def read_questions(folder: Path) -> list[Question]:
    """Return the questions."""
    lines = (folder / "xquad_en" / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    return [Question(row["q"], row["a"]) for row in map(json.loads, lines)]


def build_world(documents: Sequence[dict[str, str]], work: Path) -> World:
    """Return the world of a collection of the documents."""
    work.mkdir(parents=True)
    (work / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    return open_world(beir.ingest_corpus(work, work))


def search_snippets(world: World, style: str, question: str) -> list[str]:
    """Return the snippets of the first results."""
    query = urlencode({"q": question, "size": SHOWN_RESULTS, "snippet": style}).encode()
    return [hit["snippet"] for hit in orjson.loads(native.search(world, native.parse_search(query)))["results"]]


def retrieve_passages(world: World, question: str) -> list[str]:
    """Return the passages that `/retrieve` answers a query with."""
    return [passage for _, passage in world.search_passages(Query(question, 1, SHOWN_RESULTS))]


def open_bm25s(documents: Sequence[dict[str, str]]) -> SearchTexts:
    """Return a search of bm25s over pieces of `PIECE_WORDS` words, each with its title."""
    import bm25s  # optional peer

    pieces = []
    for document in documents:
        words = document["text"].split()
        for start in range(0, max(1, len(words)), PIECE_WORDS):
            pieces.append((document["title"], " ".join(words[start : start + PIECE_WORDS])))
    index = bm25s.BM25()
    index.index(bm25s.tokenize([f"{title} {text}" for title, text in pieces], show_progress=False), show_progress=False)

    def search(question: str) -> list[str]:
        numbers, _ = index.retrieve(bm25s.tokenize(question, show_progress=False), k=SHOWN_RESULTS, show_progress=False)
        return [pieces[number][1] for number in numbers[0]]

    return search


def print_row(name: str, questions: Sequence[Question], search: SearchTexts) -> None:
    """Print how often the first, and any of the first five, shows the answer, and how long the texts are."""
    first_hits = any_hits = characters = text_count = 0
    for question in questions:
        texts = search(question.text)
        answered = [question.is_answered_by(text) for text in texts]
        first_hits += answered[:1] == [True]
        any_hits += any(answered)
        characters += sum(map(len, texts))
        text_count += len(texts)
    count = len(questions)
    print(
        f"{name:<22}{first_hits / count:.3f}   {any_hits / count:.3f}   {characters / max(1, text_count):.0f}",
        flush=True,
    )


def main() -> None:
    """Print a row for each length of snippets, and examples if asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", type=int, default=0, help="questions to print with their snippets")
    options = parser.parse_args()
    if not (root := os.environ.get("WEBEMU_SHARED")):
        raise SystemExit("WEBEMU_SHARED is not set; set it to the folder that holds data/ir")
    folder = Path(root) / "data" / "ir"
    documents, questions = read_corpus(folder), read_questions(folder)
    with tempfile.TemporaryDirectory() as work:
        world = build_world(documents, Path(work) / "web")
        print(f"{len(documents):,} pages, {len(questions)} questions\n{'shown':<22}first  in five  characters")
        for style in SNIPPET_STYLES:
            print_row(style, questions, partial(search_snippets, world, style))
        print_row("/retrieve", questions, partial(retrieve_passages, world))
        if find_spec("bm25s"):
            print_row("bm25s, 100 words", questions, open_bm25s(documents))
        for question in questions[:: max(1, len(questions) // max(1, options.show))][: options.show]:
            print(f"\n{question.text}   ({question.answers[0]})")
            for style in SNIPPET_STYLES:
                texts = search_snippets(world, style, question.text)
                print(f"  {style:<8}{'+' if question.is_answered_by(texts[0]) else '-'} {texts[0]}")


if __name__ == "__main__":
    main()
