"""Rewards of reports that are whole, partial, copied, stuffed or uncited: the table of docs/tasks_model.md.

python -m benchmarks.reports TASKS [--collection NAME] [--root FOLDER] [--server URL]

TASKS is a file of report tasks (`webemu tasks build --recipes reports`). Each report is written in a real episode, in
which all pages of the evidence are read to their ends; the means are over the tasks of each number of pages.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from webemu.agent_client import Client
from webemu.rl.environment import Episode
from webemu.rl.policies.observation_parsing import parse_next_cursor, parse_page_text
from webemu.rl.reports.scoring import BASE_CHARACTERS, CHARACTERS_PER_CLAIM
from webemu.rl.rewards import LONG
from webemu.rl.serving import run_server
from webemu.rl.tasks import Task, load
from webemu.rl.tasks.phrases import find_names
from webemu.rl.views import strip_link_numbers

MAX_WINDOWS = 12
"""Windows of one page that are read."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Reading:
    """Task with the pages that an episode read for it."""

    task: Task
    pages: tuple[str, ...]
    """URLs of the evidence's pages, in order."""
    texts: tuple[str, ...]
    """Their texts."""

    def write(self, sentences: Sequence[tuple[str, int]]) -> str:
        """Return sentences as a report, each cited by the number of its page, as long as a report may be."""
        limit = BASE_CHARACTERS + CHARACTERS_PER_CLAIM * len(self.task.evidence)
        report = ""
        for text, page in sentences:
            line = f"{text.rstrip('. ')} [{page + 1}].\n"
            if len(report) + len(line) > limit:
                break
            report += line
        return report

    def claims(self) -> list[tuple[str, int]]:
        """Return the quotes of the evidence with the numbers of their pages, each once."""
        return list(dict.fromkeys((one.quote, self.pages.index(one.url)) for one in self.task.evidence))

    def copied(self) -> list[tuple[str, int]]:
        """Return the sentences of the pages from the top."""
        return [
            (sentence, number)
            for number, text in enumerate(self.texts)
            for sentence in _SENTENCE_END.split(text)
            if len(sentence.split()) > 2
        ]

    def names(self) -> list[tuple[str, int]]:
        """Return all names and figures of the pages."""
        return [(name, number) for number, text in enumerate(self.texts) for name in dict.fromkeys(find_names(text))]


def _alter_digits(text: str) -> str:
    return re.sub(r"\d(?!\d*\])", lambda digit: str((int(digit[0]) + 1) % 10), text)


REPORTS: Mapping[str, Callable[[Reading], str]] = {
    "the hidden report": lambda read: read.write(read.claims()),
    "every second sentence of it": lambda read: read.write(read.claims()[::2]),
    "its first sentence": lambda read: read.write(read.claims()[:1]),
    "the pages' text from the top, every sentence cited": lambda read: read.write(read.copied()),
    "all names and figures, with filler between": lambda read: read.write(
        [(f"The following is worth a mention here: {name}", page) for name, page in read.names()]
    ),
    "the same without filler": lambda read: read.write(read.names()),
    "the values alone": lambda read: ", ".join(one.value for one in read.task.evidence) + " [1].",
    "the question": lambda read: f"{read.task.question} [1].",
    "the hidden report with every digit changed": lambda read: _alter_digits(read.write(read.claims())),
    "without citations": lambda read: re.sub(r" \[\d+\]", "", read.write(read.claims())),
}
"""Reports by name; their marks are the numbers of the cited pages."""
UNREAD = "the hidden report, pages not opened"
"""Name of the report that is written without reading."""


def main() -> None:
    """Write the reports and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--collection", default=None)
    parser.add_argument("--root", type=Path, default=None)
    parser.add_argument("--server", default=None)
    options = parser.parse_args()
    tasks = [task for task in load(options.tasks) if task.answer_type == "report"]
    rewards: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    with run_server(options.server, options.root, options.collection) as address, Client(address, retries=0) as client:
        episode = Episode(client)
        for task in tasks:
            for name, reward in score_reports(episode, task):
                rewards[name][min(2, task.hops)].append(reward)
    print_table(rewards)


def score_reports(episode: Episode, task: Task) -> list[tuple[str, float]]:
    """Return the reward of each report for a task."""
    pages = tuple(dict.fromkeys(one.url for one in task.evidence))
    scores = []
    for name, write in REPORTS.items():
        episode.reset(task)
        reading = Reading(task, pages, tuple(read_page(episode, page) for page in pages))
        scores.append((name, finish(episode, write(reading), pages)))
    episode.reset(task)
    unread = Reading(task, pages, ("",) * len(pages))
    return [*scores, (UNREAD, finish(episode, unread.write(unread.claims()), pages))]


def read_page(episode: Episode, url: str) -> str:
    """Read a page to its end and return its text."""
    text, cursor = "", 0
    for _ in range(MAX_WINDOWS):
        observation = episode.call("open", {"link": url, "cursor": cursor}).text
        text += strip_link_numbers(parse_page_text(observation))
        cursor = parse_next_cursor(observation) or 0
        if not cursor:
            break
    return text


def finish(episode: Episode, report: str, pages: Sequence[str]) -> float:
    """Finish the episode with a report and return its reward."""
    episode.call("finish", {"answer": report, "citations": list(pages)})
    return LONG.score(episode.record()).reward or 0.0


def print_table(rewards: Mapping[str, Mapping[int, Sequence[float]]]) -> None:
    """Print the mean rewards, for tasks of one page and of several."""
    counts = {hops: len(values) for hops, values in next(iter(rewards.values())).items()}
    print(f"{'':<52}{'one page':>10}{'several':>10}   ({counts.get(1, 0)} and {counts.get(2, 0)} tasks)")
    for name, by_hops in rewards.items():
        means = [sum(by_hops[hops]) / len(by_hops[hops]) if by_hops.get(hops) else 0.0 for hops in (1, 2)]
        print(f"{name:<52}{means[0]:>10.2f}{means[1]:>10.2f}")


if __name__ == "__main__":
    main()
