"""Keep a server going: worker processes, threads, caches, the live snapshot, and refusals under overload.

Nothing here knows a route or a wire format. Next: `webemu.api.app`, which puts these parts together.
"""
