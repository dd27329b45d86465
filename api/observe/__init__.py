"""Figures about a running server: counters, Prometheus metrics, the dashboard, and the log of slow requests.

Nothing here changes an answer. Each worker counts for itself; `webemu.api.observe.worker_metrics` adds the workers up.
"""
