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
    Filter("self-contained", check_self_contained, "the question leans on no page and names something"),
    Filter("not-given-away", check_not_given_away, "no accepted answer stands in the question"),
    Filter("overlap", check_overlap, "it shares no 13 words in a row with a benchmark's question"),
    Filter("band", check_pass_rate, "a model passes it neither always nor never"),
    Filter("quote", check_quotes, "the pages of the evidence are served and have the quotes"),
    Filter("snippet", check_not_in_snippets, "no snippet among the first results has the answer"),
    Filter("needed", check_needed, "no single page has what several pages are evidence for"),
    Filter("unique", check_unique, "no other page states another answer"),
    Filter("answerable", check_answerable, "a script reaches every page of the evidence by searching"),
    Filter("closed-book", check_closed_book, "a model without the web gives no right answer"),
)
"""Filters that look at one task alone. `duplicate` (`webemu.rl.tasks.build`) follows them and compares it with those
kept.
"""
