"""Entrances for programs that are not written for webemu: proxy, CONNECT, TLS, DNS and Unix sockets.

The network protocols here end in ASGI; they know nothing of pages or searches.
"""
