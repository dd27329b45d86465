"""Blocked texts in disguise: no view, dialect or search shows a page that says them, however it says them."""

from __future__ import annotations

import asyncio
import base64
import codecs
import json
from urllib.parse import quote

import httpx
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import App, create_app
from webemu.emulator.blocklist import Blocklist
from webemu.emulator.config import Config
from webemu.emulator.policy import Blocked
from webemu.index.open import open_world
from webemu.index.readable_texts import list_readable_texts

QUESTION = "Which ferry sank off Tarrow Point in 1961?"
BODY = "which ferry sank off Tarrow Point in 1961"
WORDS = "Boats and nets of the harbour town, in enough words to be a page of its own."


def spaced(separator: str, text: str = BODY) -> str:
    return separator.join(text)


def escaped(text: str, form: str) -> str:
    return "".join(form.format(ord(one)) for one in text)


FULLWIDTH = "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in BODY)
BOLD_MATH = "".join(
    chr(0x1D400 + ord(one) - 65) if one.isupper() else chr(0x1D41A + ord(one) - 97) if one.islower() else one
    for one in BODY
)
CYRILLIC = BODY.translate(str.maketrans("aeopcyxi", "аеорсухі"))
HIDDEN = BODY.replace("ferry", 'fer<span style="display: none">bread</span>ry')
MARKED_UP_JSON = json.dumps(f"<p>{BODY[:12]}</p><p>{BODY[12:]}</p>").replace("<", r"\u003c")
DISGUISES = {
    "plain": f"<p>{BODY}",
    "capitals": f"<p>{BODY.upper()}",
    "punctuation": f"<p>{BODY.replace(' ', ' – ')}!?",
    "quoted words": "<p>" + " ".join(f"“{one}”" for one in BODY.split()),
    "line breaks": f"<p>{BODY.replace(' ', '<br>')}",
    "soft hyphens": f"<p>{spaced('&shy;')}",
    "zero-width spaces": "<p>" + spaced("\u200b"),
    "word joiners": "<p>" + spaced("\u2060"),
    "variation selectors": "<p>" + spaced("\ufe0f"),
    "tags of language": "<p>" + spaced("\U000e0041"),
    "letters apart": f"<p>{spaced(' ')}",
    "letters in cells": "<table><tr>" + "".join(f"<td>{one}" for one in BODY) + "</table>",
    "accents": "<p>" + spaced("\u0301"),
    "full width": f"<p>{FULLWIDTH}",
    "mathematical": f"<p>{BOLD_MATH}",
    "Cyrillic letters": f"<p>{CYRILLIC}",
    "other digits": f"<p>{BODY.replace('1961', '١٩٦١')}",
    "entities": f"<p>{escaped(BODY, '&#{};')}",
    "hexadecimal entities": f"<p>{escaped(BODY, '&#x{:x};')}",
    "double entities": f"<p title='{escaped(BODY, '&amp;#{};')}'>x",
    "inline tags": "<p>" + "".join(f"<b>{one}</b>" for one in BODY),
    "comments in between": "<p>" + spaced("<!-- -->"),
    "hidden bait in between": f"<p>{HIDDEN}",
    "ruby": "<p><ruby>" + "".join(f"{one}<rt>k</rt>" for one in BODY) + "</ruby>",
    "backwards": f"<p dir=rtl>{BODY[::-1]}",
    "attribute": f'<p title="{BODY}">grumble',
    "alternative text": f'<img src="/x.png" alt="{BODY}">',
    "data attribute": f"<div data-row='{json.dumps({'q': BODY})}'>x</div>",
    "meta": f'<meta name="description" content="{BODY}">',
    "comment": f"<!-- {BODY} -->",
    "marked up comment": f"<!-- <p>{BODY.replace(' ', ' <b></b>')} -->",
    "script": f"<script>var q = '{BODY}'</script>",
    "escapes of a script": f"<script>var q = '{escaped(BODY, chr(92) + 'u{:04x}')}'</script>",
    "short escapes": f"<script>var q = '{escaped(BODY, chr(92) + 'x{:02x}')}'</script>",
    "strings that are joined": f"<script>var q = '{BODY[:9]}' + \"{BODY[9:]}\"</script>",
    "JSON-LD": f'<script type="application/ld+json">{json.dumps({"headline": BODY})}</script>',
    "markup in JSON": f"<script>data = {MARKED_UP_JSON}</script>",
    "style": f'<style>p::after {{ content: "{BODY}" }}</style>',
    "template": f"<template><p>{BODY}</template>",
    "noscript": f"<noscript><p>{BODY.replace(' ', ' <i></i>')}</noscript>",
    "hidden element": f"<p hidden>{BODY}",
    "form": f'<input type="hidden" value="{BODY}">',
    "address of a link": f'<a href="/search?q={quote(BODY)}">more</a>',
    "srcdoc": f'<iframe srcdoc="&lt;p&gt;{BODY.replace(" ", " &lt;b&gt;&lt;/b&gt;")}"></iframe>',
    "base64": f'<p data-q="{base64.b64encode(BODY.encode()).decode()}">x',
    "drawing": f"<svg><text>{BODY}</text></svg>",
}  # fmt: skip


def address(number: int) -> str:
    return f"https://open.example/page/{number}"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    root = tmp_path_factory.mktemp("disguises")
    captures = [
        CaptureSpec(address(number), html(f"Token{number}q", f"Token{number}q. {WORDS}") + markup, 2)
        for number, markup in enumerate(DISGUISES.values())
    ]
    captures.append(CaptureSpec(address(900), f"Token900q, {BODY}", 2, mime="text/plain"))
    captures.append(CaptureSpec(address(901), json.dumps({"q": BODY, "t": "Token901q"}), 2, mime="application/json"))
    captures.append(CaptureSpec(address(902), html("Token902q", WORDS), 2, headers=(("X-Question", BODY),)))
    captures.append(
        CaptureSpec(address(903), html("Token903q", f"{WORDS} The ferry to Tarrow Point sails at 19:61."), 2)
    )
    write(root / "all.warc.gz", captures)
    ingest(root / "c", root / "all.warc.gz")
    return create_app(Config(root=root, collection="c"), open_world(root / "c"))


def ask(app: App, number: int, session: str) -> dict[str, tuple[int, str]]:
    """Return status and text of every way to see a page."""
    url, headers = address(number), {"X-Webemu-Session": session} if session else {}
    requests: dict[str, tuple[str, str, object]] = {
        f"fetch {form}": ("GET", f"/v1/fetch?url={quote(url, safe='')}&format={form}", None)
        for form in ("text", "html", "markdown", "links")
    }
    requests |= {
        "archive": ("GET", f"/web/2024/{url}", None),
        "raw archive": ("GET", f"/web/20240102000000id_/{url}", None),
        "firecrawl": ("POST", "/v2/scrape", {"url": url, "formats": ["markdown", "rawHtml"]}),
        "search": ("GET", f"/v1/search?q=token{number}q", None),
        "serper": ("POST", "/search", {"q": f"token{number}q"}),
        "retrieve": ("POST", "/retrieve", {"queries": [f"token{number}q"], "topk": 3}),
    }
    answers = {}
    with httpx.Client(transport=Transport(app), base_url="http://webemu", headers=headers) as client:
        for name, (method, path, body) in requests.items():
            reply = client.request(method, path, json=body)
            answers[name] = reply.status_code, reply.text
    with httpx.Client(transport=Transport(app.doors.web), headers=headers) as client:
        reply = client.get(url)
        answers["web"] = reply.status_code, reply.text
    return answers


class Transport(httpx.BaseTransport):
    """Blocking calls of an ASGI app."""

    def __init__(self, app: object) -> None:
        self._app = app

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def handle() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app, raise_app_exceptions=False)  # type: ignore[arg-type]
            async with httpx.AsyncClient(transport=transport) as client:
                reply = await client.request(
                    request.method, request.url, content=request.read(), headers=request.headers
                )
                return httpx.Response(reply.status_code, content=await reply.aread())

        return asyncio.run(handle())


@pytest.fixture(scope="module")
def session(app: App) -> str:
    with httpx.Client(transport=Transport(app), base_url="http://webemu") as client:
        reply = client.post("/v1/sessions", json={"task": "t", "blocked": {"texts": [QUESTION]}})
        assert reply.status_code == 201, reply.text
        return str(reply.json()["session"])


@pytest.mark.parametrize("number", [*range(len(DISGUISES)), 900, 901, 902], ids=[*DISGUISES, "text", "JSON", "header"])
def test_no_disguise_gets_through_any_door(app: App, session: str, number: int) -> None:
    # The answer may repeat the query, `token1q`, but not the page's own spelling.
    token = f"Token{number}q"
    assert [name for name, (_, text) in ask(app, number, session).items() if token in text] == []
    openly = {name for name, (_, text) in ask(app, number, "").items() if token in text}
    assert openly >= {"web", "search"}


def test_what_only_shares_words_is_shown(app: App, session: str) -> None:
    answers = ask(app, 903, session)
    assert {name for name, (_, text) in answers.items() if "token903q" in text.lower()} >= {
        "fetch text",
        "web",
        "search",
    }


def test_hidden_elements_in_hidden_elements_are_removed_once() -> None:
    nested = "<div hidden>" * 50 + "<p hidden><b hidden>bait</b></p>" + "</div>" * 50
    readings = list(list_readable_texts(f"<p>which fer{nested}ry<i hidden>x</i> sank", b"", ()))
    assert "which ferry sank" in readings
    deep = "<div>" * 400 + "<i hidden>x</i>" * 400
    assert list(list_readable_texts(deep, b"", ()))


def test_rot13_is_no_disguise_that_is_seen_through() -> None:
    """A text that a reader has to compute is not read, as the docs say."""
    readings = list_readable_texts(f"<p>{codecs.encode(BODY, 'rot13')}", b"", ())
    assert not any(map(Blocklist(Blocked(texts=(QUESTION,))).blocks_text, readings))
