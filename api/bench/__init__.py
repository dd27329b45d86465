"""Load benchmark of a server, `webemu bench`: it draws requests from a collection, sends them, and reports rates,
latencies and costs.

`command` is the entry point and `run` one run. docs/bench.md says how to read the figures.
"""
