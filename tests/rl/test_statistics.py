"""pass@k against counting, and intervals against what they promise."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest

from webemu.emulator.bootstrap import Interval, bootstrap_interval
from webemu.rl.evaluation.rows import Outcome, name_difficulty
from webemu.rl.evaluation.statistics import Figure, mean_with_interval, pass_at_k
from webemu.rl.evaluation.summary import summarize
from webemu.rl.evaluation.table import format_table

NAMES = ("pass", "em", "f1", "grounded", "reward", "recall", "calls", "tokens")


def outcome(task: str, passed: float | None, hops: str = "1", **figures: float | None) -> Outcome:
    mask = "outage: gone" if passed is None else ""
    outcome_figures = dict.fromkeys(NAMES, passed) | {"pass": passed} | figures
    absent_names = ("turns", "requests", "repeats", "misuses", "written", "coverage", "precision", "relevance")
    groups = {"recipe": "r", "hops": hops, "difficulty": "not measured", "answer type": "any"}
    return Outcome(task, groups, mask, "masked" if mask else "finished",
                   outcome_figures | dict.fromkeys(absent_names, None))  # fmt: skip


@pytest.mark.parametrize("samples", [1, 3, 6])
def test_pass_at_k_is_the_share_of_all_draws(samples: int) -> None:
    for passed in range(samples + 1):
        row = [True] * passed + [False] * (samples - passed)
        for k in range(1, samples + 1):
            draws = [any(draw) for draw in combinations(row, k)]
            assert pass_at_k(samples, passed, k) == pytest.approx(sum(draws) / len(draws))


@pytest.mark.parametrize(("samples", "passed", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4)])
def test_pass_at_k_of_nonsense(samples: int, passed: int, k: int) -> None:
    with pytest.raises(ValueError, match="is undefined"):
        pass_at_k(samples, passed, k)


def test_an_interval_repeats_and_depends_on_the_seed() -> None:
    draws = Random("values")
    values = [draws.random() for _ in range(40)]
    interval = bootstrap_interval(values, "1:em")
    assert interval == bootstrap_interval(values, "1:em") != bootstrap_interval(values, "2:em")
    assert interval.low < sum(values) / 40 < interval.high
    assert bootstrap_interval([0.5] * 9, "em") == Interval(0.5, 0.5)


def test_an_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    draws, hits = Random("truth"), 0
    for number in range(200):
        interval = bootstrap_interval([float(draws.random() < 0.4) for _ in range(60)], f"0:n{number}")
        hits += interval.low <= 0.4 <= interval.high
    assert 180 <= hits <= 199


def test_more_tasks_make_it_narrower() -> None:
    few, many = (bootstrap_interval([float(n % 3 == 0) for n in range(count)], "0:x") for count in (30, 3000))
    assert few.high - few.low > 5 * (many.high - many.low)


def test_figures_are_those_that_were_reported_before() -> None:
    """Evaluations and benchmarks on file compare with new ones only as long as these figures stay."""
    values = [0.1, 0.4, 0.35, 0.8, 1.0, 0.0, 0.2]
    assert mean_with_interval(values, "all:em", 3) == Figure(
        0.40714285714285714, 0.17857142857142858, 0.6714285714285715, 7
    )


def test_a_figure() -> None:
    assert mean_with_interval([], "x") is None
    assert mean_with_interval([1.0], "x") == Figure(1.0, 1.0, 1.0, 1)


def test_the_summary_counts_tasks_and_not_attempts() -> None:
    rows = [outcome("a", 1.0)] * 3 + [outcome("a", 0.0)] + [outcome("b", 0.0, "2")] * 4
    summary = summarize(rows)
    figures = summary.overall.figures
    assert figures["em"].mean == pytest.approx((0.75 + 0) / 2)
    assert [kind for kind in figures if kind.startswith("pass@")] == ["pass@1", "pass@2", "pass@4"]
    assert [figures[f"pass@{k}"].mean for k in (1, 2, 4)] == [pytest.approx(0.375), 0.5, 0.5]
    assert summary.groups["hops"]["2"].figures["em"].mean == 0
    assert (summary.overall.tasks, summary.overall.attempts) == (2, 8)


def test_what_is_masked_is_counted_and_in_no_figure() -> None:
    summary = summarize([outcome("a", 1.0), outcome("a", None), outcome("b", None)])
    assert summary.overall.figures["em"] == Figure(1.0, 1.0, 1.0, 1)
    assert summary.overall.figures["pass@1"].tasks == 1
    assert (summary.overall.masked, summary.masks, summary.ends) == (2, {"outage": 2}, {"finished": 1, "masked": 2})


def test_pass_at_k_only_of_tasks_with_so_many_samples() -> None:
    figures = summarize([outcome("a", 1.0), outcome("a", 0.0), outcome("b", 0.0), outcome("b", None)]).overall.figures
    assert (figures["pass@1"].tasks, figures["pass@2"].tasks) == (2, 1)
    assert figures["pass@2"].mean == 1.0


def test_all_masked_is_no_figure_and_no_crash() -> None:
    summary = summarize([outcome("a", None)])
    assert summary.overall.figures == {}
    assert "masked" in format_table(summary)


def test_the_table() -> None:
    lines = format_table(summarize([outcome("a", 1.0), outcome("b", 0.0, "2")])).splitlines()
    assert lines[0].split()[:2] == ["tasks", "pass@1"]
    assert lines[1].startswith("all")
    assert [line.split()[0] for line in lines if line.startswith("  ")] == ["1", "2"] or "by hops" in lines
    assert len({len(line) for line in lines if line.split()[0] in ("all", "1", "2")}) == 1


def test_difficulties_are_figured_by_bands() -> None:
    names = [name_difficulty(one) for one in (0.0, 0.249, 0.25, 0.75, 1.0, None)]
    assert names == ["0.00 to 0.25", "0.00 to 0.25", "0.25 to 0.50", "0.75 to 1.00", "0.75 to 1.00", "not measured"]
