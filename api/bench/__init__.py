"""`webemu bench`: the published load benchmark, what is asked, how it is sent, what is measured (docs/bench.md)."""
