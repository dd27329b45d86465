"""Filters, in the order they are asked: what costs least first. The first that says no is the last one asked."""

from webemu.rl.tasks.filters.answerable import answerable
from webemu.rl.tasks.filters.closed_book import closed_book
from webemu.rl.tasks.filters.filter import Filter, Means, Verdict
from webemu.rl.tasks.filters.measured import in_band, new
from webemu.rl.tasks.filters.quote import quoted
from webemu.rl.tasks.filters.unique import unique
from webemu.rl.tasks.filters.wording import not_given_away, self_contained

__all__ = ["FILTERS", "Filter", "Means", "Verdict"]

FILTERS = (
    Filter("self-contained", self_contained, "the question leans on no page and names something"),
    Filter("not-given-away", not_given_away, "no accepted answer stands in the question"),
    Filter("overlap", new, "it shares no 13 words in a row with a benchmark's question"),
    Filter("band", in_band, "a model passes it neither always nor never"),
    Filter("quote", quoted, "the pages of the evidence are served and have the quotes"),
    Filter("unique", unique, "no other page states another answer"),
    Filter("answerable", answerable, "a script reaches every page of the evidence through our search"),
    Filter("closed-book", closed_book, "a model without the web gives no right answer"),
)
"""Asked of each task by itself; `duplicate` follows, of each task beside those that stay."""
