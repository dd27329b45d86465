"""Count how readable the code is: the figures that are compared from release to release.

    python scripts/house_figures.py            # of this checkout
    python scripts/house_figures.py --root DIR # of another one, such as an older commit

prints a table by room: lines, share of bare names, share of docstrings that open with a fragment, share of public
names with a docstring, lines that name `Any`, functions over 50 lines; then the circles of imports. What counts as
bare or as a fragment is decided by `scripts/plain_english.py`. Wall times of the test targets are not measured here.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from plain_english import bare_names, bound_names, docstrings, is_fragment

ROOMS = ("emulator", "index", "ingest", "worlds", "api", "agent_client", "recorder", "rl", "benchmarks")
LONGEST_FUNCTION = 50
"""Lines above which a function counts as long."""


@dataclass(slots=True)
class Figures:
    """Counts over some files; they add up."""

    lines: int = 0
    names: int = 0
    bare: int = 0
    docstrings: int = 0
    fragments: int = 0
    public: int = 0
    described: int = 0
    any_lines: int = 0
    long_functions: int = 0

    def __add__(self, other: Figures) -> Figures:
        return Figures(*(getattr(self, field) + getattr(other, field) for field in self.__slots__))

    def row(self, title: str) -> str:
        """Return one line of the table."""
        shares = ((self.bare, self.names), (self.fragments, self.docstrings), (self.described, self.public))
        percents = "".join(f"{100 * part / max(total, 1):10.2f}" for part, total in shares)
        return f"{title:14}{self.lines:8}{percents}{self.any_lines:10}{self.long_functions:8}"


HEAD = f"{'room':14}{'lines':>8}{'bare %':>10}{'fragm. %':>10}{'descr. %':>10}{'Any lines':>10}{'>50':>8}"


def public_definitions(tree: ast.Module) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the public classes and functions of a module, and the public methods of its public classes."""
    bodies: list[list[ast.stmt]] = [tree.body]
    while bodies:
        for node in bodies.pop():
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith(
                "_"
            ):
                yield node
                if isinstance(node, ast.ClassDef):
                    bodies.append(node.body)


def figures_of(path: Path) -> Figures:
    """Return the counts of one Python file."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    texts = [docstring for _, docstring in docstrings(tree)]
    public = list(public_definitions(tree))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return Figures(
        lines=text.count("\n"),
        names=sum(1 for _ in bound_names(tree)),
        bare=sum(1 for _ in bare_names(tree)),
        docstrings=len(texts),
        fragments=sum(map(is_fragment, texts)),
        public=len(public),
        described=sum(ast.get_docstring(node) is not None for node in public),
        any_lines=sum(bool(re.search(r"\bAny\b", line)) for line in text.split("\n")),
        long_functions=sum((node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION for node in functions),
    )


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a file of ours, without `webemu.`."""
    name = ".".join(path.relative_to(root).with_suffix("").parts)
    return name.removesuffix(".__init__")


def imported_modules(tree: ast.AST, modules: set[str]) -> set[str]:
    """Return the modules of ours that a module imports, also for type checkers only."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return {name.removeprefix("webemu.") for name in names} & modules


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other in a circle (Tarjan's strong components, 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in graph[module]:
            if target not in index:
                visit(target)
            if target in stack:
                low[module] = min(low[module], low[target])
        if low[module] == index[module]:
            position = stack.index(module)
            group, stack[position:] = stack[position:], []
            if len(group) > 1:
                groups.append(sorted(group))

    for module in graph:
        if module not in index:
            visit(module)
    return groups


def main() -> None:
    """Print the table and the circles of a checkout."""
    parser = argparse.ArgumentParser(description="Print figures on how readable a checkout of webemu is.")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="checkout to look at [this one]")
    root = parser.parse_args().root.resolve()
    sys.setrecursionlimit(10_000)
    files = {room: sorted((root / room).rglob("*.py")) for room in ROOMS}
    totals = {room: sum(map(figures_of, paths), Figures()) for room, paths in files.items() if paths}
    print(HEAD)
    for room, figures in totals.items():
        print(figures.row(room))
    print(sum(totals.values(), Figures()).row("all"))
    paths = {module_name(path, root): path for group in files.values() for path in group}
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in paths.items()}
    groups = circles({name: imported_modules(tree, set(paths)) - {name} for name, tree in trees.items()})
    packages = [group for group in groups if not any(other.startswith(f"{group[0]}.") for other in group[1:])]
    print(f"circles of imports: {len(packages)}")
    for group in packages:
        print("  " + " ".join(group))


if __name__ == "__main__":
    main()
