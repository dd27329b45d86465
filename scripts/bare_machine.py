"""Take a training run to a bare machine: one with a GPU and PyTorch, without a network, lent for minutes at a time.

Here, pack what it needs: wheels for its Python, a model, task files, cut into parts that are small enough to carry.

    python scripts/bare_machine.py pack pack --python 3.12 --add models/smol

There, join the parts as they arrive, then train in stretches. Each ends before its time is up, goes on at the last
checkpoint, and brings back the journals in small pieces. `{work}` stands for the folder of what was unpacked.

    python3 pack/bare_machine.py join pack --work /tmp/webemu
    python3 pack/bare_machine.py stretch --work /tmp/webemu --minutes 9 --out results -- \
        --recipe smollm --model {work}/files/smol
    python3 pack/bare_machine.py deltas {work}/files/smol {work}/run/4-grpo2/model --work /tmp/webemu --out results

Here again, `restore` makes the trained model of the first one and the deltas.

    python scripts/bare_machine.py restore models/smol results --out models/trained

The file runs on its own: the bare machine has nothing of webemu before the parts are joined.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow import, and only where models are
    import torch

MANIFEST, ARCHIVE, DELTAS_FILE = "manifest.json", "pack.tar", "deltas.safetensors"
EXTRAS = ("server", "rl", "train")
PLATFORMS = (
    *(f"manylinux_2_{minor}_x86_64" for minor in (39, 35, 34, 31, 28, 27, 24, 17, 12, 5)),
    *("manylinux2014_x86_64", "manylinux1_x86_64", "linux_x86_64"),
)
"""Tags of wheels that are taken; pip matches each exactly."""
PROVIDED = ("torch", "triton", "setuptools", "pip")
"""Packages that the machine has of its own, beside those that `--provided` names and NVIDIA's libraries."""
JOURNALS = ("*.json", "*.jsonl", "*.toml", "*.html", "*.parquet")
"""Files of a run that are brought back."""
GRACE_SECONDS = 20
"""Seconds that a run has to end after it was asked to."""


class PackError(Exception):
    """Pack that cannot be written, joined or run; the message says what to do."""


def pack(out: Path, python: str, added: Sequence[Path], provided: Sequence[str], part_mib: int) -> list[Path]:
    """Write the parts of a pack and return their paths.

    `added` are files and folders that are put under `files/`. Raises: PackError if a wheel cannot be had.
    """
    shutil.rmtree(out, ignore_errors=True)
    wheels = out / "wheels"
    wheels.mkdir(parents=True)
    build_wheel(wheels)
    download_wheels(wheels, python, list_requirements([f"webemu[{','.join(EXTRAS)}]"], python, provided))
    with tarfile.open(out / ARCHIVE, "w") as archive:
        archive.add(wheels, "wheels")
        for path in added:
            archive.add(path, f"files/{path.name}")
    parts = cut(out / ARCHIVE, part_mib)
    digests = {part.name: hash_file(part) for part in parts}
    (out / MANIFEST).write_text(json.dumps({"python": python, "parts": digests}, indent=1), encoding="utf-8")
    shutil.rmtree(wheels)
    shutil.copy(__file__, out)
    return parts


def build_wheel(wheels: Path) -> None:
    """Build webemu's own wheel, without its compiled reader, which would be one of this Python."""
    root = Path(__file__).resolve().parent.parent
    _run_pip("wheel", "--no-deps", "-w", str(wheels), str(root), environment={"CC": "false"})


def list_requirements(names: Iterable[str], python: str, provided: Iterable[str]) -> dict[str, str]:
    """Return name and version of what packages need on a Linux machine, as installed here, without what is provided.

    Raises: PackError if one of them is not installed here.
    """
    from packaging.requirements import Requirement  # comes with pip's environment, not with a bare Python

    environment = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    versions, queue, visited = dict[str, str](), [Requirement(name) for name in names], set[str]()
    skipped = {_normalise(name) for name in (*PROVIDED, *provided)} - {_normalise(one.name) for one in queue}
    while queue:
        requirement = queue.pop()
        name = _normalise(requirement.name)
        if str(requirement) in visited or name in skipped or name.startswith("nvidia-"):
            continue
        visited.add(str(requirement))
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            raise PackError(
                f"{name} is not installed here: pip install '.[{','.join(EXTRAS)}]', then try again"
            ) from None
        versions[name] = installed.version.partition("+")[0]
        for line in installed.requires or ():
            needed = Requirement(line)
            extras = requirement.extras or {""}
            if not needed.marker or any(needed.marker.evaluate({**environment, "extra": one}) for one in extras):
                queue.append(needed)
    versions.pop("webemu", None)
    return versions


def download_wheels(wheels: Path, python: str, versions: Mapping[str, str]) -> None:
    """Download a wheel of each package. Raises: PackError that names those without one."""
    platforms = [f"--platform={one}" for one in PLATFORMS]
    target = ["--only-binary=:all:", f"--python-version={python}", "--implementation=cp", *platforms]
    missing = []
    for name, version in sorted(versions.items()):
        pin = f"{name}=={version}"
        try:
            _run_pip("download", "--no-deps", "-d", str(wheels), *target, pin)
        except PackError:
            # What has sources alone is mostly pure Python: its wheel is built here.
            missing += [] if _builds_pure(wheels, pin) else [pin]
    if missing:
        raise PackError(f"no wheel for Python {python} on Linux of {', '.join(missing)}: name them with --provided")


def _builds_pure(wheels: Path, pin: str) -> bool:
    try:
        _run_pip("wheel", "--no-deps", "-w", str(wheels), pin)
    except PackError:
        return False
    name = _normalise(pin.partition("==")[0])
    return any(_normalise(path.name.partition("-")[0]) == name for path in wheels.glob("*-none-any.whl"))


def cut(path: Path, part_mib: int) -> list[Path]:
    """Cut a file into parts of at most `part_mib` MiB, named NAME.00 and so on, and remove it."""
    parts = list[Path]()
    with path.open("rb") as file:
        while block := file.read(part_mib * 2**20):
            parts.append(path.with_name(f"{path.name}.{len(parts):02}"))
            parts[-1].write_bytes(block)
    path.unlink()
    return parts


def join(folder: Path, work: Path) -> list[str]:
    """Take over the parts that lie in a folder. Once all are here, unpack and install them.

    Return the names of the parts that are still missing. Raises: PackError for a part that was damaged on the way.
    """
    work.mkdir(parents=True, exist_ok=True)
    digests: dict[str, str] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["parts"]
    for name, digest in digests.items():
        if (folder / name).exists() and hash_file(folder / name) != digest:
            raise PackError(f"{folder / name} is damaged: carry it again")
        if (folder / name).exists():
            shutil.copy(folder / name, work / name)
    missing = [name for name in digests if not (work / name).exists()]
    if not missing and not (work / "site").exists():
        _unpack([work / name for name in digests], work)
    return missing


def _unpack(parts: Sequence[Path], work: Path) -> None:
    with (work / ARCHIVE).open("wb") as archive:
        for part in parts:
            archive.write(part.read_bytes())
    with tarfile.open(work / ARCHIVE) as archive_file:
        archive_file.extractall(work, filter="data")
    (work / ARCHIVE).unlink()
    wheels = sorted(map(str, (work / "wheels").glob("*.whl")))
    unfinished = work / "site.unfinished"
    _run_pip("install", "--no-index", "--no-deps", "--no-compile", "--target", str(unfinished), *wheels)
    unfinished.replace(work / "site")


def train(work: Path, minutes: float, arguments: Sequence[str]) -> int | None:
    """Run `webemu train` until it ends or its time is up; return its exit status, or None if it was stopped.

    Started again, it goes on at its last checkpoint. The run stands in `work/run`, unless the arguments name --out.
    """
    filled = [one.replace("{work}", str(work)) for one in arguments]
    folder = [] if "--out" in filled else ["--out", str(work / "run")]
    command = [sys.executable, "-m", "webemu.emulator.cli", "train", *filled, *folder]
    # In a session of its own, so that the server of the run is stopped with it.
    process = subprocess.Popen(command, env=_environment(work), cwd=work, start_new_session=True)
    try:
        return process.wait(minutes * 60)
    except subprocess.TimeoutExpired:
        _stop(process)
        return None


def _stop(process: subprocess.Popen[bytes]) -> None:
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, signal_number)
            process.wait(GRACE_SECONDS)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def collect(run: Path, out: Path, piece_mib: int) -> list[Path]:
    """Pack the journals of a run into pieces of at most `piece_mib` MiB, and return them."""
    out.mkdir(parents=True, exist_ok=True)
    with tarfile.open(out / "journals.tar.gz", "w:gz") as archive:
        for path in _list_journals(run):
            archive.add(path, str(path.relative_to(run)))
    return cut(out / "journals.tar.gz", piece_mib)


def _list_journals(run: Path) -> Iterator[Path]:
    for pattern in JOURNALS:
        for path in sorted(run.rglob(pattern)):
            folders = {part.partition("-")[0] for part in path.relative_to(run).parts[:-1]}
            if path.is_file() and not folders & {"webs", "model", "checkpoint"}:
                yield path


def write_deltas(base: Path, trained: Path, out: Path, rank: int, piece_mib: int) -> list[Path]:
    """Write how a trained model differs from the one it began with, each matrix as two factors of `rank` columns, and
    return the pieces.

    A run with LoRA differs by a matrix of low rank, which the factors hold to within bfloat16; other runs lose what
    they changed beyond it. The share that is lost is printed.
    """
    import torch  # slow import, needed here only
    from safetensors.torch import save_file

    out.mkdir(parents=True, exist_ok=True)
    before, after = _read_weights(base), _read_weights(trained)
    factors, lost, total = dict[str, torch.Tensor](), 0.0, 0.0
    for name, weight in after.items():
        delta = weight.float() - before[name].float()
        if delta.ndim != 2 or min(delta.shape) <= 2 * rank:
            factors[f"{name}/whole"] = delta.bfloat16()
            continue
        rows, strengths, columns = torch.svd_lowrank(delta, q=rank + 8, niter=4)
        roots = strengths[:rank].sqrt()
        factors[f"{name}/rows"] = (rows[:, :rank] * roots).bfloat16().contiguous()
        factors[f"{name}/columns"] = (columns[:, :rank] * roots).bfloat16().contiguous()
        lost += float((delta - factors[f"{name}/rows"].float() @ factors[f"{name}/columns"].float().T).square().sum())
        total += float(delta.square().sum())
    save_file(factors, out / DELTAS_FILE)
    print(f"deltas of rank {rank}: {(lost / total) ** 0.5 if total else 0:.4f} of the change is lost")
    return cut(out / DELTAS_FILE, piece_mib)


def restore(base: Path, results: Path, out: Path) -> None:
    """Write the model that the base model and the pieces of its deltas make."""
    from safetensors.torch import load, save_file

    pieces = sorted(results.glob(f"{DELTAS_FILE}.*"))
    if not pieces:
        raise PackError(f"{results} holds no {DELTAS_FILE}.00: name the folder that the pieces were brought back to")
    factors = load(b"".join(piece.read_bytes() for piece in pieces))
    shutil.copytree(base, out, ignore=shutil.ignore_patterns("*.safetensors*"))
    weights = _read_weights(base)
    for name, weight in weights.items():
        full_delta = factors.get(f"{name}/whole")
        rows, columns = factors.get(f"{name}/rows"), factors.get(f"{name}/columns")
        delta = full_delta.float() if full_delta is not None else rows.float() @ columns.float().T
        weights[name] = (weight.float() + delta).to(weight.dtype).contiguous()
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})


def _read_weights(folder: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    weights = dict[str, "torch.Tensor"]()
    for path in sorted(folder.glob("*.safetensors")):
        weights |= load_file(path)
    if not weights:
        raise PackError(f"{folder} holds no *.safetensors: name the folder of a saved model")
    return weights


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _normalise(name: str) -> str:
    """Return the normalised name of a package (PEP 503)."""
    return name.replace("_", "-").replace(".", "-").lower()


def _environment(work: Path) -> dict[str, str]:
    """Return the environment of a program that uses what was unpacked, and no network."""
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
    return {**os.environ, **offline, "PYTHONPATH": str(work / "site")}


def _run_pip(*arguments: str, environment: Mapping[str, str] | None = None) -> None:
    """Run pip. Raises: PackError with the last line that it printed."""
    command = [sys.executable, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
    process = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    if process.returncode:
        lines = (process.stderr or process.stdout).strip().splitlines() or ["no message"]
        raise PackError(f"`pip {arguments[0]}` failed: {lines[-1]}")


def read_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], epilog="The top of this file shows the steps in order."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    subparser = commands.add_parser("pack", help="write the parts of a pack")
    subparser.add_argument("out", type=Path, help="folder to write; replaced")
    subparser.add_argument("--python", default="3.12", help="version of the machine's Python [default: 3.12]")
    subparser.add_argument(
        "--add", type=Path, nargs="*", default=[], help="files and folders to take along, under files/"
    )
    subparser.add_argument("--provided", nargs="*", default=[], help="names of further packages that the machine has")
    subparser.add_argument("--part-mib", type=int, default=48, help="largest part in MiB [default: 48]")
    subparser = commands.add_parser(
        "join", help="take over the parts in a folder; unpack and install once all are there"
    )
    subparser.add_argument("folder", type=Path, help="folder with the manifest and some of the parts")
    subparser = commands.add_parser("stretch", help="train until the time is up, and collect the journals")
    subparser.add_argument("--minutes", type=float, default=9, help="minutes until the run is stopped [default: 9]")
    subparser.add_argument("arguments", nargs="*", help="arguments of `webemu train`, behind --")
    subparser = commands.add_parser("deltas", help="write how a trained model differs from its base")
    subparser.add_argument("base", help="folder of the base model")
    subparser.add_argument("trained", help="folder of the trained model")
    subparser.add_argument("--rank", type=int, default=32, help="columns of the factors of a matrix [default: 32]")
    for name in ("join", "stretch", "deltas"):
        commands.choices[name].add_argument("--work", type=Path, default=Path("/tmp/webemu"), help="folder of the work")
    for name in ("stretch", "deltas"):
        commands.choices[name].add_argument("--out", type=Path, default=Path("results"), help="folder of the pieces")
        commands.choices[name].add_argument("--piece-mib", type=int, default=15, help="largest piece [default: 15]")
    subparser = commands.add_parser("restore", help="make the trained model of its base and the deltas")
    subparser.add_argument("base", type=Path, help="folder of the base model")
    subparser.add_argument("results", type=Path, help="folder with the pieces of the deltas")
    subparser.add_argument("--out", type=Path, required=True, help="folder of the model; must not exist")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status."""
    options = read_arguments(words)
    try:
        return _COMMANDS[options.command](options)
    except PackError as error:
        print(f"bare_machine: {error}", file=sys.stderr)
        return 1


def _pack(options: argparse.Namespace) -> int:
    for part in pack(options.out, options.python, options.add, options.provided, options.part_mib):
        print(f"{part}  {part.stat().st_size / 2**20:.1f} MiB")
    return 0


def _join(options: argparse.Namespace) -> int:
    missing = join(options.folder, options.work.resolve())
    print(f"missing: {', '.join(missing)}" if missing else f"unpacked in {options.work}")
    return 0


def _stretch(options: argparse.Namespace) -> int:
    work = options.work.resolve()
    if not (work / "site").exists():
        raise PackError(f"{work} has nothing unpacked: join all parts first")
    status = train(work, options.minutes, options.arguments)
    collect(work / "run", options.out, options.piece_mib)
    print("stopped in time; the same command goes on" if status is None else f"`webemu train` ended with {status}")
    return status or 0


def _deltas(options: argparse.Namespace) -> int:
    work = str(options.work.resolve())
    base, trained = (Path(folder.replace("{work}", work)) for folder in (options.base, options.trained))
    write_deltas(base, trained, options.out, options.rank, options.piece_mib)
    return 0


def _restore(options: argparse.Namespace) -> int:
    restore(options.base, options.results, options.out)
    return 0


_COMMANDS = {"pack": _pack, "join": _join, "stretch": _stretch, "deltas": _deltas, "restore": _restore}

if __name__ == "__main__":
    sys.exit(main())
