"""`benchmarks.flame_graph` on small profiles: what is drawn, how wide, and what is left out."""

import re
from pathlib import Path

import pytest

from benchmarks.flame_graph import draw, read_profile

PROFILE = """\
main (webemu:8);serve (api/command.py:10);search (emulator/world.py:5);rank (index/rank.py:7) 60
main (webemu:8);serve (api/command.py:11);search (emulator/world.py:9) 20
main (webemu:8);serve (api/command.py:11);a<b>.write (uvicorn/server.py:1) 19
main (webemu:8);serve (api/command.py:12);rare (index/rank.py:1) 0
main (webemu:8);idle (threading.py:1);search (emulator/world.py:9) 1
"""


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "search.raw"
    path.write_text(PROFILE)
    return path


def widths_of(svg: str) -> dict[str, float]:
    """Return the width of each frame by its name, in pixels."""
    boxes = re.findall(r"<title>(.*?): [\d.]+%</title><rect [^>]*?y=.*? width=\"([\d.]+)\"", svg)
    return {name: float(width) for name, width in boxes}


def test_a_frame_is_as_wide_as_its_share_and_common_ones_are_left_out(profile: Path) -> None:
    svg = draw(read_profile(profile), "a <search>")
    assert widths_of(svg) == {"search": 959.5, "rank": 719.5, "a&lt;b&gt;.write": 227.5}
    assert "a &lt;search&gt;" in svg
    assert svg.count('fill="#f3cf9f"/><text') == 2  # the legend of the index, and `rank`


def test_with_a_function_only_what_it_calls_counts_whoever_calls_it(profile: Path) -> None:
    root = read_profile(profile, "search")
    assert (root.samples, list(root.callees)) == (81, ["search"])
    assert widths_of(draw(root, "")) == {"rank": round(1200 * 60 / 81 - 0.5, 1)}


def test_a_line_without_a_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.raw").write_text("main (a.py:1);f (a.py:2) many\n")
    with pytest.raises(ValueError, match="line 1: no stack"):
        read_profile(tmp_path / "x.raw")
