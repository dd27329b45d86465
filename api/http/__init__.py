"""HTTP plumbing that every service shares: requests, parameters, bodies, responses, errors and their headers.

Nothing here knows a route, a snapshot or a vendor. Next: `webemu.api.services.registry` and `webemu.api.dialects`,
which use it.
"""
