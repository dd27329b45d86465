"""TRL's `GRPOTrainer(environment_factory=…)`: classes whose public methods are the tools, and one reward function.

TRL finds a tool by its name and passes its arguments. TRL itself answers unknown names and arguments that are no
object; the episode answers everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING

from webemu.rl.adapters.environment_config import (
    EnvironmentConfig,
    EpisodeResult,
    pack_task,
    unpack_task,
)
from webemu.rl.chat import answer_rules
from webemu.rl.tasks import Task

if TYPE_CHECKING:
    from datasets import Dataset


def _episode_tool(method: Callable[..., str]) -> Callable[..., str]:
    """Turn a signature into a tool: TRL reads the schema from it, and any arguments go to the episode, which checks
    them.
    """

    @wraps(method)
    def call(self: SearchEnv, **arguments: object) -> str:
        return self._call(method.__name__, arguments)

    return call


class SearchEnv:
    """Environment that the trainer reuses for many rollouts, reset for each. Its tools' docstrings are part of the
    prompt.
    """

    def __init__(self, environment_config: EnvironmentConfig) -> None:
        self._environment_config, self._episode = environment_config, environment_config.new_episode()
        self._task = ""
        self._result: EpisodeResult | None = None

    def reset(self, *, task: str, seed: int = 0, **row: object) -> str:
        """Start an episode of a packed task; return the question, which TRL appends to the prompt."""
        unpacked_task = unpack_task(task)
        self._task, self._result = unpacked_task.id, None
        return self._episode.reset(unpacked_task, seed).text

    @_episode_tool
    def search(self, query: str, page: int = 1) -> str:
        """Search the web. Gives ten results, each with a link id such as r3.

        Args:
            query: What to search for.
            page: Page of results, from 1.
        """
        raise NotImplementedError

    @_episode_tool
    def open(self, link: str, cursor: int = 0) -> str:
        """Open a page and read its text. Links stand in it as [8].

        Args:
            link: An address, r3 of the last results, or 8 of the page that is open.
            cursor: Character to begin at, from 0.
        """
        raise NotImplementedError

    @_episode_tool
    def find(self, pattern: str) -> str:
        """Find a text in the page that is open, upper and lower case alike.

        Args:
            pattern: The text to find.
        """
        raise NotImplementedError

    @_episode_tool
    def finish(self, answer: str, citations: list[str]) -> str:
        """Give the one answer and the pages it stands on. This ends the work.

        Args:
            answer: The answer alone.
            citations: Addresses or ids of pages that were opened and hold the answer; p1 is the first.
        """
        raise NotImplementedError

    @_episode_tool
    def ask_user(self, question: str) -> str:
        """Ask the person whose question it is for what it leaves open. Costs as much as a search.

        Args:
            question: One question about one thing.
        """
        raise NotImplementedError

    def _call(self, name: str, arguments: Mapping[str, object]) -> str:
        self._result = None
        return self._episode.call(name, arguments).text


class SelfScoringEnv(SearchEnv):
    """Environment that also tells its reward, for `AsyncGRPOTrainer`, whose workers pass no environments to reward
    functions.
    """

    def get_reward(self) -> float | None:
        """Return the reward of the episode; None if it is masked, for which TRL gives no advantage."""
        return _score_all([self])[0]["reward"]


def _score_all(environments: Sequence[SearchEnv]) -> list[EpisodeResult]:
    """Return the scores of the current episodes, each computed once; a judge is asked about all concurrently."""
    unscored = [environment for environment in environments if environment._result is None]
    if unscored:
        # All environments of a trainer share one configuration.
        results = unscored[0]._environment_config.score_all([environment._episode.record() for environment in unscored])
        for environment, result in zip(unscored, results, strict=True):
            environment._result = result
    return [environment._result for environment in environments if environment._result is not None]


def environment_factories(environment_config: EnvironmentConfig) -> dict[str, Callable[[], SearchEnv]]:
    """Return the factories for `environment_factory`; the `environment` column of a row names one. All rows have the
    same tools.
    """
    return {"search": partial(SearchEnv, environment_config)}


def async_environment_factories(environment_config: EnvironmentConfig) -> dict[str, Callable[[], SelfScoringEnv]]:
    """Return the factories for `AsyncGRPOTrainer`, without `reward_funcs`. They can be pickled, as its workers need."""
    return {"search": partial(SelfScoringEnv, environment_config)}


def reward(
    environments: Sequence[SearchEnv],
    log_metric: Callable[[str, float], None] | None = None,
    log_extra: Callable[[str, list[object]], None] | None = None,
    **row: object,
) -> list[float | None]:
    """Return the reward of each episode for `reward_funcs`, None where masked. Its terms are logged only."""
    outcomes = _score_all(environments)
    if log_metric:
        for name, values in _term_values(outcomes).items():
            log_metric(f"terms/{name}", sum(values) / len(values))
        log_metric("masked", sum(bool(one["masked"]) for one in outcomes) / max(1, len(outcomes)))
    if log_extra:
        log_extra("task", [one._task for one in environments])
        log_extra("masked", [one["masked"] for one in outcomes])
    return [one["reward"] for one in outcomes]


def build_rows(tasks: Iterable[Task], seed: int = 0) -> list[dict[str, object]]:
    """Return rows of a dataset: a prompt that ends where the question goes, and the task as text.

    Dataset.from_list(build_rows(load("tasks.jsonl")))
    """
    return [
        {
            "prompt": _build_prompt(task),
            "task": pack_task(task),
            "seed": seed,
            "environment": "search",
        }
        for task in tasks
    ]


def build_dataset(tasks: Iterable[Task], seed: int = 0) -> Dataset:
    """Return the rows as a `datasets.Dataset`."""
    from datasets import Dataset  # an optional dependency, slow to import

    return Dataset.from_list(build_rows(tasks, seed))


def _build_prompt(task: Task) -> list[dict[str, str]]:
    return [{"role": "system", "content": answer_rules(task.answer_type)}, {"role": "user", "content": ""}]


def _term_values(outcomes: Sequence[EpisodeResult]) -> dict[str, list[float]]:
    """Return the values of each term, over the episodes that are not masked and have it."""
    values_by_term: dict[str, list[float]] = {}
    for outcome in outcomes:
        for name, value in outcome["terms"].items():
            if value is not None:
                values_by_term.setdefault(name, []).append(value)
    return values_by_term
