"""Finds pages that give tasks away: those that repeat a question and say its answer, in any place that can be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from webemu.emulator.errors import PayloadError, SnapshotError
from webemu.emulator.ngrams import normalize_text
from webemu.index.later import open_pages
from webemu.index.manifest import current_id

RUN_WORDS = 8
"""Words of a question that a page must repeat one after the other; all of them if there are fewer.

OpenAI's and Google's contamination checks take 8 to 13 words (GPT-3, Brown et al. 2020; PaLM, Chowdhery et al. 2022).
"""
MIN_QUESTION_WORDS = 4
"""Questions with fewer words are met by chance; they are left out."""
_WORD = re.compile(r"\w+")


class AuditedTask(NamedTuple):
    """A task as an audit needs it."""

    id: str
    question: str
    answers: tuple[str, ...]
    evidence: frozenset[str]
    """URLs of the pages that the task is meant to be answered from."""


Kind = Literal["question", "wording", "evidence"]


class Giveaway(NamedTuple):
    """A page that repeats words of a question, one after the other, and says an answer."""

    task: str
    url: str
    words: str
    """The words of the question that the page repeats."""
    answer: str
    kind: Kind
    """`question`: the page repeats the beginning of the question; `wording`: other words of it alone, as a source does
    that the question was made from; `evidence`: the task names the page as its evidence.
    """


class _Questions:
    """Runs of words of all questions, by their first words."""

    def __init__(self, tasks: Sequence[AuditedTask]) -> None:
        self._tasks = tasks
        self._by_run: dict[str, list[tuple[int, bool]]] = {}
        """Numbers of tasks by run, each with True if the run begins the question."""
        self._lengths: set[int] = set()
        for number, task in enumerate(tasks):
            words = _WORD.findall(normalize_text(task.question))
            size = min(len(words), RUN_WORDS)
            if size < MIN_QUESTION_WORDS:
                continue
            self._lengths.add(size)
            for start in range(len(words) - size + 1):
                self._by_run.setdefault(" ".join(words[start : start + size]), []).append((number, not start))

    def find(self, url: str, texts: Iterable[str]) -> Iterator[Giveaway]:
        """Yield what a page gives away; `texts` is all that can be read in it."""
        repeated: dict[int, tuple[bool, str]] = {}
        pieces = []
        for text in texts:
            words = _WORD.findall(normalize_text(text))
            pieces.append(f" {' '.join(words)} ")
            for size in self._lengths:
                for start in range(len(words) - size + 1):
                    run = " ".join(words[start : start + size])
                    for number, is_first in self._by_run.get(run, ()):
                        repeated[number] = max(repeated.get(number, (False, run)), (is_first, run))
        for number, (is_first, run) in repeated.items():
            task = self._tasks[number]
            for answer in task.answers:
                answer_words = " ".join(_WORD.findall(normalize_text(answer)))
                if answer_words and any(f" {answer_words} " in piece for piece in pieces):
                    kind: Kind = "evidence" if url in task.evidence else "question" if is_first else "wording"
                    yield Giveaway(task.id, url, run, answer, kind)
                    break


def find_giveaways(
    collection: Path,
    tasks: Sequence[AuditedTask],
    progress: Callable[[Iterable[str]], Iterable[str]] = lambda urls: urls,
) -> list[Giveaway]:
    """Return the pages of the snapshot that is served which give one of the tasks away, by task and URL.

    Everything that can be read in a page counts: attributes, comments, scripts and headers too.

    Raises:
        SnapshotError: no snapshot is being served.
    """
    snapshot = current_id(collection)
    if snapshot is None:
        raise SnapshotError(f"{collection} has no snapshot yet", action="webemu ingest SOURCE...")
    pages, questions = open_pages(collection, snapshot), _Questions(tasks)
    giveaways: set[Giveaway] = set()
    for url in progress(pages.iter_urls()):
        for capture in pages.exact(url):
            with suppress(PayloadError):
                payload = pages.payload(capture)
                giveaways.update(questions.find(url, pages.readable_texts(payload, pages.html(capture))))
    return sorted(giveaways)
