"""The command `webemu audit-leak`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypeVar

import orjson
import typer
from tqdm import tqdm

from webemu.api.audit.as_of import RULES, AuditReport, Finding, audit_as_of
from webemu.emulator.config import load_config
from webemu.emulator.dates import parse_time
from webemu.emulator.errors import BadRequest
from webemu.emulator.options import RootOption
from webemu.index.giveaways import AuditedTask, find_giveaways

MAX_PRINTED = 5
"""Findings of each rule that are printed."""
_OTHER_KINDS = {
    "wording": "say an answer and words of its question, but not its beginning, as a source does",
    "evidence": "are named as evidence by the task that they repeat",
}
Item = TypeVar("Item")
CollectionOption = Annotated[str | None, typer.Option(help="Collection to audit. [default: default]")]
AsOfOption = Annotated[str, typer.Option(help="Moment, such as 2024-06-01: audit what sessions as of it see.")]
TasksOption = Annotated[Path | None, typer.Option(help="Task file: find pages that give its questions away.")]
RequestsOption = Annotated[int, typer.Option(help="Random requests to send.", min=1)]
SeedOption = Annotated[int, typer.Option(help="Seed of the draw: equal seeds give equal requests.")]
DoorOption = Annotated[
    list[str] | None, typer.Option(help="Ask this door alone, such as web, cdx, mcp or serper; may be repeated.")
]
OutOption = Annotated[Path | None, typer.Option(help="File for all findings, one JSON object per line.")]
PolicyOutOption = Annotated[
    Path | None, typer.Option(help="With --tasks: file for the policy that hides the pages found.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Hide the progress bar.")]


def audit_leak(
    collection: CollectionOption = None,
    root: RootOption = None,
    as_of: AsOfOption = "",
    tasks: TasksOption = None,
    requests: RequestsOption = 10_000,
    seed: SeedOption = 0,
    door: DoorOption = None,
    out: OutOption = None,
    policy_out: PolicyOutOption = None,
    quiet: QuietOption = False,
) -> None:
    """Prove that sessions see nothing that they must not see, or say what they do see.

    --as-of asks random requests of every door and compares their answers with those of a server that has only what was
    captured by then. --tasks reads every page for questions of a task file that stand there with their answer. Exit
    status 1 if anything is found.
    """
    if bool(as_of) == (tasks is not None):
        raise BadRequest("say what to audit", action="give either --as-of TIME or --tasks FILE")
    if policy_out and tasks is None:
        raise BadRequest("--policy-out needs --tasks", action="leave it out, or give --tasks FILE")
    folder = load_config({"root": root, "collection": collection}).collection_folder
    findings = (
        _audit_tasks(folder, tasks, policy_out, quiet)
        if tasks
        else _audit_as_of(folder, parse_time(as_of), (requests, seed, door or []), quiet)
    )
    if out:
        out.write_bytes(b"".join(orjson.dumps(finding) + b"\n" for finding in findings))
    raise typer.Exit(1 if any(finding.get("kind", "question") == "question" for finding in findings) else 0)


def _audit_as_of(
    folder: Path, as_of: datetime, draw: tuple[int, int, list[str]], quiet: bool
) -> list[dict[str, object]]:
    """Audit sessions as of a moment, print the outcome and return the findings."""

    def progress(items: Iterable[Item]) -> Iterable[Item]:
        bar: Iterable[Item] = tqdm(items, total=draw[0], unit=" requests", disable=quiet or None)
        return bar

    report = audit_as_of(folder, as_of, *draw, progress)
    print("\n".join(_format_report(report)))
    return [_to_row(finding) for finding in report.findings]


def _format_report(report: AuditReport) -> list[str]:
    """Return the lines of a report."""
    count = sum(figures.requests for figures in report.doors.values())
    equal = sum(figures.equal for figures in report.doors.values())
    by_rule = Counter(finding.rule for finding in report.findings)
    early, late = report.captures
    lines = [
        f"as of           {report.as_of:%Y-%m-%dT%H:%M:%SZ}: {early:,} captures by then, {late:,} later, which alone"
        f" say {report.later_words:,} words",
        f"cut snapshot    {report.snapshot}: latest capture {report.latest:%Y-%m-%dT%H:%M:%SZ},"
        f" {by_rule['late-capture']} later",
        f"(a) naming it   {count:,} requests: {by_rule['differs']} answers differ from those of a server without later"
        " captures",
        f"(b) with as_of  {count:,} requests: {by_rule['later-text']} show what only later captures say,"
        f" {by_rule['differs-by-as-of']} of doors without ranking differ",
        f"                {report.strict_searches} strict searches for later words:"
        f" {by_rule['found-by-later-word']} find more",
        f"may differ      {count - equal:,} answers of (b) ({(count - equal) / max(1, count):.1%}), apart from names of"
        " snapshot and moment" + _worst_doors(report),
    ]
    if report.first_pages:
        same_share = sum(is_same for is_same, _ in report.first_pages) / len(report.first_pages)
        result_share = sum(share for _, share in report.first_pages) / len(report.first_pages)
        lines.append(
            f"first pages     {len(report.first_pages)} searches: {same_share:.1%} as in the cut snapshot;"
            f" {result_share:.1%} of its results shown"
        )
    if report.early_revisits:
        lines.append(
            f"revisits        {report.early_revisits:,} URLs repeat by their digest what was recorded only later; it is"
            " served, and answers that name them may differ"
        )
    if report.chance_words:
        words = ", ".join(word for word, _ in report.chance_words.most_common(10))
        lines.append(f"by chance       words that earlier captures say in other places: {words}")
    printed_findings = [
        one for rule in RULES for one in [one for one in report.findings if one.rule == rule][:MAX_PRINTED]
    ]
    lines += [f"FOUND {_describe(finding)}" for finding in printed_findings]
    if more := len(report.findings) - len(printed_findings):
        lines.append(f"and {more} more: --out FILE writes all")
    return lines


def _worst_doors(report: AuditReport) -> str:
    """Name the doors with most answers that differ."""
    differing = sorted((figures.equal - figures.requests, door) for door, figures in report.doors.items())[:6]
    texts = [f"{door} {-number}" for number, door in differing if number]
    return f": {', '.join(texts)}" if texts else ""


def _describe(finding: Finding) -> str:
    request = finding.request
    return f"{finding.rule}: {request.method} {request.url} {request.body.decode()[:200]}: {finding.detail[:300]}"


def _to_row(finding: Finding) -> dict[str, object]:
    request = finding.request
    return {
        "rule": finding.rule,
        "method": request.method,
        "url": request.url,
        "body": request.body.decode(),
        "headers": dict(request.headers),
        "detail": finding.detail,
    }


def _audit_tasks(folder: Path, tasks: Path, policy_out: Path | None, quiet: bool) -> list[dict[str, object]]:
    """Find pages that give tasks away, print them, write the policy that hides them, and return all that was found."""

    def progress(items: Iterable[Item]) -> Iterable[Item]:
        bar: Iterable[Item] = tqdm(items, unit=" URLs", disable=quiet or None)
        return bar

    audited = [_read_task(line, tasks, number) for number, line in enumerate(_read_lines(tasks), 1)]
    giveaways = find_giveaways(folder, audited, progress)
    hidden = [one for one in giveaways if one.kind == "question"]
    given_away = len({one.task for one in hidden})
    print(f"{len(audited):,} tasks, {given_away:,} of them given away by {len({one.url for one in hidden}):,} pages")
    for kind, text in _OTHER_KINDS.items():
        if count := len({one.url for one in giveaways if one.kind == kind}):
            print(f"{count:,} pages {text}; they stay")
    for giveaway in hidden[:MAX_PRINTED]:
        print(f"FOUND {giveaway.task}: {giveaway.url} repeats {giveaway.words!r} and says {giveaway.answer!r}")
    if len(hidden) > MAX_PRINTED:
        print(f"and {len(hidden) - MAX_PRINTED} more: --out FILE writes all")
    if policy_out:
        urls = sorted({one.url for one in hidden})
        policy_out.write_text(json.dumps({"blocked": {"urls": urls}}, indent=1) + "\n")
        print(f"{policy_out} hides them: webemu serve --policy {policy_out}, or open sessions with it", file=sys.stderr)
    return [one._asdict() for one in giveaways]


def _read_lines(path: Path) -> list[str]:
    """Return the lines of a file that are not empty. Raises BadRequest."""
    try:
        return [line for line in path.read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(
            f"{path}: {error}", action="give a file with one task per line, as in docs/tasks.md"
        ) from error


def _read_task(line: str, path: Path, number: int) -> AuditedTask:
    """Return the task in a line: `question`, `answers`, and `id` and `evidence` if it has them. Raises BadRequest."""
    try:
        fields = orjson.loads(line)
        evidence = frozenset(str(one["url"]) for one in fields.get("evidence") or [])
        answers = fields["answers"]
        answers = (answers,) if isinstance(answers, str) else tuple(map(str, answers))
        return AuditedTask(str(fields.get("id", number)), str(fields["question"]), answers, evidence)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadRequest(
            f"{path}, line {number}: {error!r}", action="write tasks as in docs/tasks.md: question, answers"
        ) from error
