"""The curriculum, against a simulated learner: a skill that grows with what can be learned from."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from webemu.rl.curriculum import (
    Curriculum,
    Plan,
    interpolate_slowly,
    interpolate_weather,
    limit_turns,
    reveal_first_hop,
)
from webemu.rl.state import Limits
from webemu.rl.tasks import Evidence, Task

ALONE = Plan(replay=0, mutate=0)


def task(name: str, hops: int, recipe: str) -> Task:
    chain = tuple(Evidence(f"https://{name}.example/{hop}", f"Step {hop} of {name}.", f"v{hop}") for hop in range(hops))
    return Task(name, f"What is at the end of {name}?", (f"End of {name}",), chain, hops, recipe)


def tasks(*buckets: tuple[int, str], each: int = 20) -> list[Task]:
    return [task(f"{recipe}-{hops}-{number}", hops, recipe) for hops, recipe in buckets for number in range(each)]


class Learner:
    """Passes with a probability that falls with difficulty; learns from an attempt as much as its outcome varies."""

    def __init__(self, difficulty: dict[str, float], seed: int = 0) -> None:
        self.difficulty, self.skill, self._rng = difficulty, dict.fromkeys(difficulty, 0.0), Random(seed)

    def chance(self, recipe: str) -> float:
        return 1 / (1 + math.exp(self.difficulty[recipe] - self.skill[recipe]))

    def attempt(self, drawn_task: Task) -> float:
        p = self.chance(drawn_task.recipe)
        self.skill[drawn_task.recipe] += 0.05 * p * (1 - p)
        return float(self._rng.random() < p)


def test_draws_gather_where_outcomes_vary() -> None:
    pool = tasks((1, "never"), (1, "even"), (1, "always"))
    curriculum, rng, drawn = Curriculum(pool, plan=ALONE), Random(1), Counter[str]()
    chance = {"never": 0.01, "even": 0.5, "always": 0.99}
    for step in range(100):
        for drawn_task in curriculum.draw(16):
            drawn[drawn_task.recipe] += step >= 20
            curriculum.learn(drawn_task, float(rng.random() < chance[drawn_task.recipe]))
    assert drawn["even"] / drawn.total() > 0.75
    assert min(drawn.values()) / drawn.total() > 0.02  # and the rest is still looked at


def test_a_learner_learns_more_than_from_even_draws() -> None:
    names = [f"r{number}" for number in range(12)]
    difficulty = {name: number - 4.0 for number, name in enumerate(names)}
    pool = tasks(*((1, name) for name in names))
    taught, even = Learner(difficulty), Learner(difficulty)
    curriculum, rng = Curriculum(pool, plan=ALONE), Random(0)
    for _ in range(60):
        for drawn_task in curriculum.draw(32):
            curriculum.learn(drawn_task, taught.attempt(drawn_task))
        for drawn_task in rng.choices(pool, k=32):
            even.attempt(drawn_task)
    gained = [sum(learner.skill.values()) for learner in (taught, even)]
    assert gained[0] > 1.3 * gained[1]


def test_more_hops_open_when_the_fewer_are_mastered() -> None:
    pool = tasks((1, "a"), (1, "b"), (2, "c"), (4, "d"))
    curriculum = Curriculum(pool, plan=ALONE)
    assert {drawn_task.hops for drawn_task in curriculum.draw(50)} == {1}
    for _ in range(20):
        curriculum.learn(pool[0], 1.0)
    assert curriculum.level == 2  # half of the buckets of one hop
    assert {bucket[0] for bucket in curriculum.bucket_probabilities()} == {1, 2}
    for _ in range(20):
        curriculum.learn(next(drawn_task for drawn_task in pool if drawn_task.recipe == "c"), 1.0)
    assert curriculum.level == 4


def test_the_same_outcomes_give_the_same_draws_and_a_saved_one_goes_on() -> None:
    pool, reserve = tasks((1, "a"), (2, "b"), (3, "c")), [replace(one, id=f"x{one.id}") for one in tasks((2, "b"))]

    def play(curriculum: Curriculum, steps: int) -> list[str]:
        ids = []
        for _ in range(steps):
            for drawn_task in curriculum.draw(8):
                ids.append(drawn_task.id)
                curriculum.learn(drawn_task, float(Random(f"{drawn_task.id}:{curriculum.step}").random() < 0.6))
        return ids

    all_ids = play(Curriculum(pool, reserve, 3), 40)
    first = Curriculum(pool, reserve, 3)
    half = play(first, 20)
    assert [*half, *play(Curriculum.from_json(first.to_json(), pool, reserve), 20)] == all_ids
    assert play(Curriculum(pool, reserve, 4), 40) != all_ids


def test_masked_attempts_teach_nothing() -> None:
    curriculum = Curriculum(tasks((1, "a")))
    before = curriculum.bucket_probabilities()
    curriculum.learn(curriculum.tasks[0], None)
    assert (curriculum.bucket_probabilities(), curriculum.rates, curriculum.masked) == (before, {}, 1)


def test_failures_come_back_as_others_of_their_kind_each_once() -> None:
    pool = tasks((2, "a"))
    reserve = [task(f"spare-{number}", 2, "a") for number in range(3)] + [task("other", 2, "b")]
    curriculum = Curriculum(pool, reserve, plan=Plan(mutate=1.0, replay=0))
    for failed in pool[:5]:
        curriculum.learn(failed, 0.0)
        for solved in pool[5:12]:
            curriculum.learn(solved, 1.0)
    drawn = [drawn_task.id for drawn_task in curriculum.draw(5)]
    assert sorted(drawn[:3]) == ["spare-0", "spare-1", "spare-2"]
    assert all(name.endswith("-told") for name in drawn[3:])  # the reserve is spent


def test_hard_failures_come_back_with_a_hop_told() -> None:
    pool = tasks((3, "a"))
    curriculum = Curriculum(pool, tasks((3, "a")), plan=Plan(mutate=1.0, replay=0))
    for failed in pool[:10]:
        curriculum.learn(failed, 0.0)
    (drawn_task,) = curriculum.draw(1)
    assert (drawn_task.id, drawn_task.hops, len(drawn_task.evidence)) == ("a-3-0-told", 2, 2)
    assert drawn_task.question == "One page says: “Step 0 of a-3-0.” What is at the end of a-3-0?"
    curriculum.learn(drawn_task, 0.0)
    curriculum._failed_ids = {drawn_task.id: None}
    (again,) = Curriculum.from_json(curriculum.to_json(), pool, plan=curriculum.plan).draw(1)
    assert (again.id, again.hops) == ("a-3-0-told-told", 1)


def test_a_hop_is_told_only_where_it_helps_and_gives_nothing_away() -> None:
    two_hops = task("x", 2, "a")
    assert reveal_first_hop(task("x", 1, "a")) is None
    assert reveal_first_hop(replace(two_hops, answer_type="none")) is None
    assert (
        reveal_first_hop(replace(two_hops, evidence=(Evidence("https://a.example/"), *two_hops.evidence[1:]))) is None
    )
    evidence = Evidence("https://a.example/", "It is the END of X, they say.")
    assert reveal_first_hop(replace(two_hops, evidence=(evidence, *two_hops.evidence[1:]))) is None


def test_old_successes_are_replayed() -> None:
    pool = tasks((1, "a"), (1, "b"))
    curriculum = Curriculum(pool, plan=Plan(replay=1.0))
    for _ in range(30):
        curriculum.learn(pool[3], 1.0)
    assert {drawn_task.id for drawn_task in curriculum.draw(20)} == {pool[3].id}


def test_memory_is_bounded() -> None:
    pool = tasks((1, "a"), each=200)
    curriculum = Curriculum(pool, plan=Plan(memory=50))
    for pool_task in pool:
        curriculum.learn(pool_task, 0.0)
        curriculum.learn(pool_task, 1.0)
    assert (len(curriculum._failed_ids), len(curriculum._solved_ids)) == (0, 50)


def test_a_curriculum_without_tasks_is_none() -> None:
    with pytest.raises(ValueError, match="at least one task"):
        Curriculum([])


def test_the_horizon_grows_by_steps() -> None:
    schedule = ((100, 12), (0, 6), (300, 24))
    assert [limit_turns(Limits(), step, schedule).turns for step in (0, 99, 100, 299, 300)] == [6, 6, 12, 12, 24]
    assert limit_turns(Limits(turns=5), 0, ((10, 9),)).turns == 5


def test_noise_rises_as_the_servers_own_formula_says() -> None:
    from webemu.emulator.weather import curriculum_rate as served

    for progress in (0.0, 0.3, 1.0):
        assert interpolate_slowly(0.1, 0.6, progress) == pytest.approx(served(0.1, 0.6, progress))
    rates = [
        interpolate_weather({"dropped": 0.1}, {"dropped": 0.5, "errors": 0.2}, progress) for progress in (0.0, 0.5, 1.0)
    ]
    assert rates[0] == {"dropped": 0.1, "errors": 0.0}
    assert rates[2] == pytest.approx({"dropped": 0.5, "errors": 0.2})
    assert rates[1]["dropped"] < 0.3  # slowly first
