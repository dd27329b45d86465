"""Filters, cheapest first. A task that a filter rejects is not shown to the filters after it."""

from webemu.rl.tasks.filters.answerable import check_answerable
from webemu.rl.tasks.filters.closed_book import check_closed_book
from webemu.rl.tasks.filters.filter import Filter, FilterContext, Verdict
from webemu.rl.tasks.filters.measured import check_overlap, check_pass_rate
from webemu.rl.tasks.filters.needed import check_needed
from webemu.rl.tasks.filters.quote import check_quotes
from webemu.rl.tasks.filters.snippets import check_not_in_snippets
from webemu.rl.tasks.filters.unique import check_unique
from webemu.rl.tasks.filters.wording import check_not_given_away, check_self_contained

__all__ = ["FILTERS", "Filter", "FilterContext", "Verdict"]

FILTERS = (
    Filter("self-contained", check_self_contained),
    Filter("not-given-away", check_not_given_away),
    Filter("overlap", check_overlap),
    Filter("band", check_pass_rate),
    Filter("quote", check_quotes),
    Filter("snippet", check_not_in_snippets),
    Filter("needed", check_needed),
    Filter("unique", check_unique),
    Filter("answerable", check_answerable),
    Filter("closed-book", check_closed_book),
)
"""Filters that look at one task alone. `duplicate` (`webemu.rl.tasks.build`) follows them and compares it with those
kept.
"""
