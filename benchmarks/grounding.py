"""Visits for decoration: what an agent earns that knows the answer and cites some page that has its words.

python -m benchmarks.grounding [FOLDER] [--tasks N] [--pages N]

Each task of a generated web is answered correctly, once with its evidence opened, then with up to `PAGES_TRIED` other
pages that a search for the answer finds and that have its string, one episode for each. Such a page may say the answer
of the question, too, so the rewards of pages without the question's names are shown apart: these should all be 0.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.run import run_module
from webemu.agent_client import Client
from webemu.rl.environment import Episode
from webemu.rl.gates import contains_answer
from webemu.rl.grounding import claim_of
from webemu.rl.record import EpisodeRecord, url_key
from webemu.rl.rewards import SHORT
from webemu.rl.serving import run_server
from webemu.rl.tasks import Task, load
from webemu.rl.verify import normalise
from webemu.rl.wording import name_words

PAGES_TRIED = 8
"""Pages that have the answer's string and are tried for each task."""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=None)
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--pages", type=int, default=3000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        make_web(folder, options.pages)
        tasks = load(folder / "web" / "tasks.jsonl")
        task_sample = random.Random(1).sample(tasks, min(options.tasks, len(tasks)))
        with run_server(None, folder, None) as address, Client(address, retries=0, timeout=90) as client:
            print_table(measure(Episode(client), task_sample), len(task_sample))


def make_web(folder: Path, pages: int) -> None:
    """Generate and ingest a web in a folder, unless it has one."""
    if not (folder / "web" / "tasks.jsonl").exists():
        run_module("webemu.emulator.cli", "generate", str(folder / "web"), "--pages", str(pages), "--seed", "3", "-q")
        run_module("webemu.emulator.cli", "ingest", str(folder / "web"), "--root", str(folder), "-q")


def measure(episode: Episode, tasks: Sequence[Task]) -> dict[str, Counter[float | None]]:
    """Return the rewards of each way to cite."""
    rewards: dict[str, Counter[float | None]] = {"evidence": Counter(), "names it": Counter(), "decoration": Counter()}
    for task in tasks:
        rewards["evidence"][score(play(episode, task, [row.url for row in task.evidence]))] += 1
        for page in find_pages(episode, task):
            record = play(episode, task, [page])
            text = f"{record.title_of(page)}\n{' '.join(record.shown_parts_of(page))}"
            if contains_answer(text, task.answers[0]):
                rewards["names it" if names_subject(task, text) else "decoration"][score(record)] += 1
    return rewards


def find_pages(episode: Episode, task: Task) -> list[str]:
    """Return pages that a search for the answer finds and that are not of the evidence."""
    episode.reset(task)
    gold = {url_key(row.url) for row in task.evidence}
    page_urls: list[str] = []
    for query in (task.answers[0], f'"{task.answers[0]}"'):
        episode.call("search", {"query": query})
        page_urls += [url for url in episode.links.values() if url_key(url) not in gold and url not in page_urls]
    return page_urls[:PAGES_TRIED]


def play(episode: Episode, task: Task, pages: Sequence[str]) -> EpisodeRecord:
    """Search, open the pages, and give the accepted answer with the last one."""
    episode.reset(task)
    episode.call("search", {"query": task.question})
    for page in pages:
        episode.call("open", {"link": page})
    episode.call("finish", {"answer": task.answers[0], "citations": [pages[-1]]})
    return episode.record()


def score(record: EpisodeRecord) -> float | None:
    """Return the reward of an episode."""
    return SHORT.score(record).reward


def names_subject(task: Task, text: str) -> bool:
    """True if a text has a name of the question, or a value of the evidence that leads to the answer's page."""
    words, normal = name_words(normalise(text)), normalise(text)
    claim = claim_of(task.question, task.answers)
    return any(name <= words for name in claim.names) or any(
        normalise(row.value) in normal for row in task.evidence[:-1]
    )


def print_table(rewards: dict[str, Counter[float | None]], task_count: int) -> None:
    """Print the number of episodes by reward."""
    print(f"{task_count} tasks; episodes by reward")
    for name, counts in rewards.items():
        shares = ", ".join(
            f"{reward}: {count}" for reward, count in sorted(counts.items(), key=lambda entry: -entry[1])
        )
        print(f"{name:<12}  {sum(counts.values()):>6}  {shares}")


if __name__ == "__main__":
    main()
