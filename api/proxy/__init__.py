"""Doors for programs that know nothing of us: proxy, CONNECT, TLS. They know only ASGI."""
