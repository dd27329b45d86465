"""Writes comparisons with a live search service for people: a table, and a page with both lists of each query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from operator import attrgetter
from statistics import fmean, median

from webemu.index.evaluation.serp_comparison import SerpComparison, count_domains
from webemu.index.evaluation.serp_log import RecordedResult
from webemu.index.evaluation.statistics import mean_with_interval

MEASURES: tuple[tuple[str, str, Callable[[SerpComparison], float]], ...] = (
    ("captured", "live results whose URL the collection has", attrgetter("captured_share")),
    ("overlap", "live results that the collection's results have", attrgetter("overlap")),
    ("rbo", "rank-biased overlap, persistence 0.9", attrgetter("rank_biased_overlap")),
    ("domains", "domains that both have, of those that one has", attrgetter("domain_overlap")),
)
"""Measures: name, what it is, and its value for a query."""
MAX_DOMAINS = 10
"""Domains of the table, the most frequent ones."""
_STYLE = """
:root{color-scheme:light dark;font:16px/1.45 system-ui,sans-serif}body{max-width:72rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse}th,td{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top}
.lists{display:grid;grid-template-columns:repeat(auto-fit,minmax(18rem,1fr));gap:1.5rem}
li{margin-bottom:.6rem;overflow-wrap:anywhere}.both{font-weight:600}small{display:block;opacity:.8}
"""


def format_table(comparisons: Sequence[SerpComparison]) -> list[str]:
    """Return the lines of the table: measures with intervals, then lengths, times and domains of both sides."""
    lines = [f"{len(comparisons):,} queries"]
    for name, meaning, value in MEASURES:
        figure = mean_with_interval([value(comparison) for comparison in comparisons], name)
        lines.append(f"{name:<10} {figure.mean:.3f} [{figure.low:.3f} {figure.high:.3f}]   {meaning}")
    sides = ([comparison.live for comparison in comparisons], [comparison.local for comparison in comparisons])
    lines.append(f"{'':<28}{'live':>10}{'here':>10}")
    lines.append(_format_row("results of a query", *(f"{fmean(map(len, side)):.1f}" for side in sides)))
    lines.append(_format_row("characters of a snippet", *map(_mean_characters, sides)))
    live_times = [
        comparison.live_milliseconds for comparison in comparisons if comparison.live_milliseconds is not None
    ]
    times = (live_times, [comparison.local_milliseconds for comparison in comparisons])
    lines.append(_format_row("milliseconds (median)", *(f"{median(side):.1f}" if side else "-" for side in times)))
    live_domains, local_domains = map(count_domains, sides)
    totals = [sum(side.values()) or 1 for side in (live_domains, local_domains)]
    for domain in list(live_domains | local_domains)[:MAX_DOMAINS]:
        shares = (
            counts.get(domain, 0) / total for counts, total in zip((live_domains, local_domains), totals, strict=True)
        )
        lines.append(_format_row(domain, *(f"{share:.1%}" for share in shares)))
    return lines


def list_missing(comparisons: Iterable[SerpComparison]) -> list[str]:
    """Return the URLs of live results that the collection lacks, each once, in order: input of `webemu pick --urls`."""
    missing = (
        result.url
        for comparison in comparisons
        for result, is_captured in zip(comparison.live, comparison.captured, strict=True)
        if not is_captured
    )
    return list(dict.fromkeys(missing))


def render_page(comparisons: Sequence[SerpComparison]) -> str:
    """Return a page of HTML with the table, and both lists of each query side by side."""
    table = escape("\n".join(format_table(comparisons)))
    sections = "\n".join(map(_render_query, comparisons))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Live results and ours</title><style>{_STYLE}</style></head><body><main><h1>Live results and ours</h1>"
        f"<pre>{table}</pre>\n{sections}</main></body></html>\n"
    )


def _render_query(comparison: SerpComparison) -> str:
    """Return the section of one query. Results that are on both sides are bold."""
    live_urls, local_urls = ({result.url for result in side} for side in (comparison.live, comparison.local))
    figures = ", ".join(f"{name} {value(comparison):.2f}" for name, _, value in MEASURES)
    live = "".join(
        _render_result(result, result.url in local_urls, "" if is_captured else "not in the collection")
        for result, is_captured in zip(comparison.live, comparison.captured, strict=True)
    )
    local = "".join(_render_result(result, result.url in live_urls, "") for result in comparison.local)
    return (
        f'<section><h2>{escape(comparison.query)}</h2><p>{figures}</p><div class="lists">'
        f"<div><h3>Live</h3><ol>{live}</ol></div><div><h3>Here</h3><ol>{local}</ol></div></div></section>"
    )


def _render_result(result: RecordedResult, is_on_both: bool, note: str) -> str:
    notes = f"<small>{note}</small>" if note else ""
    return (
        f"<li><span{' class=both' if is_on_both else ''}>{escape(result.url)}</span>{notes}"
        f"<small>{escape(result.snippet)}</small></li>"
    )


def _format_row(label: str, live: str, local: str) -> str:
    return f"{label:<28}{live:>10}{local:>10}"


def _mean_characters(side: Iterable[Sequence[RecordedResult]]) -> str:
    """Return the mean length of the snippets of one side; a dash if it has none."""
    lengths = [len(result.snippet) for results in side for result in results if result.snippet]
    return f"{fmean(lengths):.0f}" if lengths else "-"
