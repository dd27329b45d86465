"""Web archives served from the crawl: the Wayback Machine, and the index and files of Common Crawl.

Clients written for these services (waybackpy, cdx_toolkit, Memento clients) work unchanged. `routes` maps hosts and
paths to the handlers.
"""
