"""Ways in which a request may carry a session."""

from base64 import b64encode


def basic(text: str) -> str:
    """Return credentials of the scheme Basic."""
    return "Basic " + b64encode(text.encode()).decode()


def carriers(session: str) -> list[dict[str, str]]:
    """Return headers that carry a session at every door."""
    return [
        {"X-Webemu-Session": session},
        {"X-Webemu-Session": f"{session};marks=off"},
        {"Authorization": f"Bearer {session}"},
        {"X-API-Key": session},
        {"Proxy-Authorization": basic(f"{session}:any")},
    ]


def near_misses(session: str) -> list[dict[str, str]]:
    """Return headers that name a session in a way that does not count, or beside another name."""
    shouted = session.replace("ws-", "WS-")
    return [
        {"X-Webemu-Session": shouted}, {"X-Webemu-Session": session.upper()}, {"X-Webemu-Session": f'"{session}"'},
        {"X-Webemu-Session": f"<{session}>"}, {"X-Webemu-Session": f"[{session}]"},
        {"X-Webemu-Session": f"session={session}"}, {"X-Webemu-Session": f", {session}"},
        {"X-Webemu-Session": f"me, {session}"}, {"X-Webemu-Session": f"{session}, me"},
        {"X-Webemu-Session": f"Bearer {session}"}, {"X-Webemu-Session": f"{session}\t."},
        {"Authorization": f"Digest {session}"}, {"Authorization": f"Token {session}"},
        {"Authorization": f'Bearer "{session}"'}, {"Authorization": f"Bearer {shouted}"},
        {"Authorization": basic(f"{session}:x")}, {"Authorization": basic(f"x:{session}")},
        {"Proxy-Authorization": f"Bearer {session}"}, {"Proxy-Authorization": f"Digest {session}"},
        {"Proxy-Authorization": basic(f"x:{session}")}, {"Proxy-Authorization": basic(f"{shouted}:x")},
        {"X-Webemu-Session": "me", "Proxy-Authorization": basic(f"{session}:")},
        {"X-Webemu-Session": "", "Proxy-Authorization": basic(f"{session}:")},
        {"X-Webemu-Session": "me", "Authorization": f"Bearer {session}"},
        {"X-Webemu-Session": "me", "X-API-KEY": session},
        {"X-Auth-Token": session}, {"Api-Key": session}, {"X-Goog-Api-Key": session}, {"Webemu-Session": session},
    ]  # fmt: skip
