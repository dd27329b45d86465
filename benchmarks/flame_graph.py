"""Draws a profile as a flame graph small enough for a page: frames below half a per cent are left out.

    py-spy record --pid PID --duration 30 --format raw --output search.raw
    python -m benchmarks.flame_graph search.raw "a search over HTTP" [FUNCTION] > search.svg

A profile has a line for each stack: frames from the outermost, separated by semicolons, and the number of samples. The
width of a frame is its share of all samples, or of those inside FUNCTION if one is named; frames that nearly all stacks
begin with are left out, since they say nothing. Colours tell the rooms of webemu and the libraries apart.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

WIDTH, ROW_HEIGHT, HEAD = 1200, 17, 40
"""Width of the image, and heights of a frame and of the heading, in pixels."""
MIN_SHARE = 0.005
"""Smallest share of all samples that is drawn."""
MAX_ROWS = 20
"""Frames below one another that are drawn."""
COMMON_SHARE = 0.9
"""Share of all samples from which on a frame counts as common to all stacks."""
CHARACTER_WIDTH = 6.2
"""Width of a character of a label, in pixels."""
ROOM_COLOURS = {
    "api": "#b9d3f0", "emulator": "#c9e4c5", "index": "#f3cf9f", "ingest": "#e9bcd0", "rl": "#d5c8ee",
    "agent_client": "#c9e4e4",
}  # fmt: skip
"""Colour of each room's frames."""
LIBRARY_COLOUR = "#dddddd"
"""Colour of frames outside webemu."""
_FRAME = re.compile(r"(?P<function>.*) \((?P<file>[^()]*?)(?::\d+)?\)")


@dataclass(slots=True)
class Frame:
    """A function in the place where it was called."""

    name: str = ""
    room: str = ""
    """Folder of webemu that has the function; empty for a library."""
    samples: int = 0
    callees: dict[str, Frame] = field(default_factory=dict)


def read_profile(path: Path, function: str = "") -> Frame:
    """Return the frame that all stacks of a profile begin with; with a function, those that have it, from there on.
    Lines of one function are one frame.

    Raises: ValueError if a line is no stack with a number.
    """
    root = Frame()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        stack, _, samples = line.rpartition(" ")
        if not samples.isdigit():
            raise ValueError(f"{path}, line {number}: no stack with a number; record it with py-spy --format raw")
        labels = [_split_label(label) for label in stack.split(";")]
        if function:
            names = [name for name, _ in labels]
            if function not in names:
                continue
            labels = labels[names.index(function) :]
        frame = root
        frame.samples += int(samples)
        for name, room in labels:
            frame = frame.callees.setdefault(name, Frame(name, room))
            frame.samples += int(samples)
    return root


def _split_label(label: str) -> tuple[str, str]:
    """Return (function, room) of a frame as py-spy writes it."""
    if not (match := _FRAME.fullmatch(label)):
        return label, ""
    folder = match["file"].partition("/")[0]
    return match["function"], folder if folder in ROOM_COLOURS else ""


def draw(root: Frame, title: str) -> str:
    """Return an SVG image of a profile, the outermost frames at the top."""
    total = max(1, root.samples)
    top = _skip_common(root, total)
    boxes = list(_place(top.callees, 0, 0, total))
    rows = 1 + max((row for _, _, row in boxes), default=0)
    height = HEAD + rows * ROW_HEIGHT + 4
    legend = "".join(
        f'<rect x="{WIDTH - 560 + 92 * place}" y="12" width="12" height="12" fill="{colour}"/>'
        f'<text x="{WIDTH - 544 + 92 * place}" y="22">{name}</text>'
        for place, (name, colour) in enumerate([*list(ROOM_COLOURS.items())[:4], ("libraries", LIBRARY_COLOUR)])
    )
    body = "".join(_draw_box(frame, start, row, total) for frame, start, row in boxes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="monospace" '
        f'font-size="10"><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="4" y="22" font-size="13">{escape(title)}</text>{legend}{body}</svg>\n'
    )


def _skip_common(frame: Frame, total: int) -> Frame:
    """Return the innermost frame that nearly all stacks have: what is above it is the way to the work."""
    largest = max(frame.callees.values(), key=lambda callee: callee.samples, default=frame)
    is_common = largest is not frame and largest.samples >= COMMON_SHARE * total
    return _skip_common(largest, total) if is_common else frame


def _place(frames: dict[str, Frame], start: int, row: int, total: int) -> Iterator[tuple[Frame, int, int]]:
    """Yield (frame, samples before it, row) of frames and their callees, the largest of each frame first."""
    for frame in sorted(frames.values(), key=lambda frame: (-frame.samples, frame.name)):
        if frame.samples >= MIN_SHARE * total and row < MAX_ROWS:
            yield frame, start, row
            yield from _place(frame.callees, start, row + 1, total)
        start += frame.samples


def _draw_box(frame: Frame, start: int, row: int, total: int) -> str:
    x, width, y = WIDTH * start / total, WIDTH * frame.samples / total, HEAD + row * ROW_HEIGHT
    colour = ROOM_COLOURS.get(frame.room, LIBRARY_COLOUR)
    visible_name = frame.name[: max(0, int((width - 4) / CHARACTER_WIDTH))]
    label = f'<text x="{x + 2:.1f}" y="{y + 12}">{escape(visible_name)}</text>' if len(visible_name) > 2 else ""
    return (
        f"<g><title>{escape(frame.name)}: {frame.samples / total:.1%}</title>"
        f'<rect x="{x:.1f}" y="{y}" width="{max(0.5, width - 0.5):.1f}" height="{ROW_HEIGHT - 1}" fill="{colour}"/>'
        f"{label}</g>"
    )


def main() -> None:
    """Print the flame graph of the profile that the first argument names, under the title of the second."""
    if len(sys.argv) not in (3, 4):
        raise SystemExit("usage: python -m benchmarks.flame_graph PROFILE TITLE [FUNCTION] > GRAPH.svg")
    sys.stdout.write(draw(read_profile(Path(sys.argv[1]), *sys.argv[3:]), sys.argv[2]))


if __name__ == "__main__":
    main()
