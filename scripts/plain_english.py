"""Refuse names and docstrings that a stranger cannot read: the lint of `make check`.

A bare participle or pronoun (`told`, `found`, `given`, `one`) says neither what a value is nor of which type, and
cannot be searched for. A docstring that opens with a fragment ("Of them that ...", "Whether ...") makes the reader
finish the sentence. Both are counted here, file by file; that a sentence is true and useful no lint can see.

    python scripts/plain_english.py emulator index api

prints one line per fault, `file:line: what to change`, and exits with 1 if there is any. A loop variable of a
comprehension may be called `one`. Names that a foreign interface or a wire format fixes stand in `ALLOWED`.
Read `scripts/house_figures.py` next, which counts the same faults as shares.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

BARE = frozenset(
    "told said asked given found wanted known made seen kept held left own its mine ours theirs whole others rest one"
    " each_one shown taken begun heard most least chosen meant gone beside along struck stays whom".split()
)
"""Names that say nothing of what they hold, with or without leading underscores, in any case."""
FRAGMENT = re.compile(
    r"(Of|What|Whether|So many|So much|So|As|Those|That|Which|Where|When|Who|Whom|Whose|How|By|In|On|At|To|For|From"
    r"|With|Without|Nothing|Among|Under|Over|Beside|Beneath|Below|Above|Within|Through|After|Before|Between|Into|Upon|If"
    r"|Because|Since|Also|Else|Made|Told|Said|Asked|Given|Found|Seen|Kept|Held|Shown|Taken|Heard|Wanted)\b"
)
"""Openings of a docstring that is no sentence: prepositions, question words and participles."""
ALLOWED = {
    "emulator/trace.py::shown": "column of the trace files",
    "api/services/models.py::others": "member of search answers",
    "agent_client/types.py::others": "member of search answers",
    "agent_client/responses.py::others": "member of search answers",
    "api/sessions/models.py::left": "member of a session's report",
    "api/sessions/store.py::left": "member of a session's report",
    "rl/attempt_row.py::told": "member of episodes.jsonl",
    "benchmarks/scale_model.py::asked": "member of the figures' JSON",
    "benchmarks/scale_model.py::own": "member of the figures' JSON",
}
"""Names by `path::name` that a published format fixes, with the format."""


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, name) of everything that code binds: definitions, parameters, variables, attributes, exceptions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs) and node.name:
            yield node.lineno, node.name


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of every docstring, those below fields and constants included."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                text = statement.value.value
                if isinstance(text, str):
                    yield statement.lineno, text.strip()


def is_bare(name: str) -> bool:
    """Return True if a name is a bare participle or pronoun."""
    return name.strip("_").lower() in BARE


def is_fragment(text: str) -> bool:
    """Return True if a docstring opens with a fragment instead of a sentence or a noun."""
    return bool(FRAGMENT.match(text))


def comprehension_variables(tree: ast.AST) -> set[tuple[int, str]]:
    """Return (line, name) of the loop variables of comprehensions."""
    targets = (clause.target for node in ast.walk(tree) for clause in getattr(node, "generators", ()))
    return {(node.lineno, node.id) for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def bare_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, name) of bare names, without the `one` of comprehensions."""
    loops = comprehension_variables(tree)
    for line, name in bound_names(tree):
        if is_bare(name) and not (name == "one" and (line, name) in loops):
            yield line, name


def faults(path: Path) -> Iterator[str]:
    """Yield one line for each bare name and each fragment in a Python file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for line, name in bare_names(tree):
        if f"{path.as_posix()}::{name}" not in ALLOWED:
            yield f"{path}:{line}: the name `{name}` does not say what it holds: use a noun that tells the type"
    for line, text in docstrings(tree):
        if is_fragment(text):
            opening = text.split("\n")[0][:60]
            yield f"{path}:{line}: the docstring opens with a fragment ({opening!r}): write a full sentence"


def python_files(places: list[str]) -> list[Path]:
    """Return the Python files that folders and file names lead to, in order."""
    return [
        path for place in map(Path, places) for path in (sorted(place.rglob("*.py")) if place.is_dir() else [place])
    ]


def main() -> int:
    """Print the faults of the files and folders that the command line names; return the exit status."""
    lines = [line for path in python_files(sys.argv[1:]) for line in faults(path)]
    print("\n".join(lines) or "plain_english: no bare names, no fragments")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
