"""Measures what `webemu plan` predicts, and says how far its predictions are off.

python -m benchmarks.plan --measure NAME SOURCE... [--held-out] [--write]
python -m benchmarks.plan

The first ingests the sources into a temporary collection, builds its snapshot and asks it. With `--write` the figures
are stored in `ingest/planning/measurements.json`, and the prices that are fitted on them beside it; with `--held-out`
they are stored too, and never fitted on. The second prints each held-out figure beside its prediction.

Prices are not negative, and the squares of the relative errors are least (non-negative least squares, Lawson and Hanson
1974; here every set of prices is tried).
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from itertools import chain, combinations
from pathlib import Path

import numpy as np

from benchmarks.scale import measure_command, measure_disk, print_step
from webemu.index.catalog import Catalog
from webemu.ingest.planning.content import read_content
from webemu.ingest.planning.model import (
    FIGURES,
    MEASUREMENTS,
    PRICES,
    Measurement,
    Model,
    load_model,
    read_measurements,
    read_quantity,
)

MIXES = ("search", "text", "raw")
"""Kinds of requests that are measured."""
REQUESTS = 4000


def measure(name: str, sources: list[str], is_held_out: bool, work: Path) -> Measurement:
    """Return what the sources hold and what they cost in a new collection below `work`."""
    options = ["--root", str(work), "--collection", "c"]
    print_step("ingest")
    ingestion = measure_command("ingest", *sources, *options, "--no-snapshot", "-q")
    print_step("build")
    build = measure_command("snapshots", "build", *options)
    with Catalog(work / "c", read_only=True) as catalog:
        content = read_content(catalog)
    disk = measure_disk(work / "c")
    figures = {
        "ingest_core_seconds": ingestion["core_s"],
        "build_core_seconds": build["core_s"],
        "ingest_bytes": float(ingestion["tree_own"]),
        "build_bytes": float(build["tree_own"]),
        **{f"disk_{part.replace(' ', '_')}": float(size) for part, size in disk.items()},
    }
    for mix in MIXES:
        print_step(mix)
        figures[f"{mix}_core_seconds"] = 1 / measure_rate(work, mix)
    return {"name": name, "held_out": is_held_out, **content, "figures": figures}


def measure_rate(root: Path, mix: str) -> float:
    """Return how many different requests one core of a server answers in a second, without a cache."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = ["bench", "--root", str(root), "--collection", "c", "--mix", mix, "--cache-mb", "0"]
        measure_command(*command, "-q", "--requests", str(REQUESTS), "--json", file.name)
        report = json.loads(Path(file.name).read_text())
    return 1e6 / float(report["server"]["us_per_request"])


def fit_model(measurements: Sequence[Measurement]) -> Model:
    """Return the model of least relative errors for these measurements."""
    return Model({figure: _fit_prices(figure, names, measurements) for figure, names in FIGURES.items()})


def _fit_prices(figure: str, names: Sequence[str], measurements: Sequence[Measurement]) -> dict[str, float]:
    """Return the prices of a figure, none of them negative."""
    rows = [row for row in measurements if figure in row["figures"]]
    # Divided by the measured value, every row aims at 1, so that small collections count as much as large ones.
    matrix = np.array([[read_quantity(row, name) / row["figures"][figure] for name in names] for row in rows])
    best, least_error = dict.fromkeys(names, 0.0), float("inf")
    for columns in chain.from_iterable(combinations(range(len(names)), count) for count in range(1, len(names) + 1)):
        scale = np.abs(matrix[:, columns]).max(axis=0)
        if not scale.all():  # no collection has any of it, so that its price is unknown
            continue
        solution = np.linalg.lstsq(matrix[:, columns] / scale, np.ones(len(rows)), rcond=None)[0] / scale
        error = float(np.square(matrix[:, columns] @ solution - 1).sum())
        if solution.min() >= 0 and error < least_error:
            best = dict.fromkeys(names, 0.0) | {names[column]: float(solution[n]) for n, column in enumerate(columns)}
            least_error = error
    return best


def print_check() -> None:
    """Print each figure of the held-out measurements beside its prediction."""
    model = load_model()
    for held_out in (row for row in read_measurements() if row["held_out"]):
        print(f"{held_out['name']}: {held_out['pages']:,} pages, {held_out['html_bytes'] / 1e6:,.0f} MB of HTML")
        prediction = model.predict(held_out)
        for name in FIGURES:
            measured = held_out["figures"][name]
            error = prediction[name] / measured - 1
            print(f"  {name:24} {measured:16,.4g} measured {prediction[name]:16,.4g} predicted {error:+7.1%}")


def main(arguments: list[str]) -> None:
    """Parse the command line; measure sources, or print the check."""
    parser = argparse.ArgumentParser("benchmarks.plan", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--measure", metavar="NAME", help="Name of what is measured.")
    parser.add_argument("sources", nargs="*", help="Sources as `webemu ingest` takes them.")
    parser.add_argument("--held-out", action="store_true", help="Do not fit the model on it.")
    parser.add_argument("--write", action="store_true", help="Store the figures.")
    options = parser.parse_args(arguments)
    if not options.measure:
        print_check()
        return
    with tempfile.TemporaryDirectory(prefix="plan-") as work:
        measurement = measure(options.measure, options.sources, options.held_out, Path(work))
    print(json.dumps(measurement, indent=1))
    if options.write:
        earlier = [row for row in read_measurements() if row["name"] != options.measure]
        MEASUREMENTS.write_text(json.dumps([*earlier, measurement], indent=1) + "\n")
        model = fit_model([row for row in read_measurements() if not row["held_out"]])
        PRICES.write_text(json.dumps(model.prices, indent=1) + "\n")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exit normally, so that folders are removed
    main(sys.argv[1:])
