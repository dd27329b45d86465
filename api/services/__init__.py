"""Services of this server itself: the emulated web, the native API under `/v1`, and the registry of all others.

Vendors' APIs are in `webemu.api.dialects`, archives in `webemu.api.archives`, wikis in `webemu.api.wiki`.
"""
