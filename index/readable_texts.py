"""Everything that can be read in a recorded response, in any disguise: what a policy's blocked texts are looked for in.

Texts come out more than once, and with markup in between: they are for finding, not for showing.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator, Sequence
from html import unescape
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser, LexborNode

SAMPLE_BYTES = 4096
"""Bytes of a body without a stated encoding in which a zero byte shows that it is no text."""
MAX_CLIMBS = 1_000_000
"""Parents that are looked at for the hidden elements of a page, as a bound for pages made to be expensive."""
_HIDDEN = (
    "[hidden], [aria-hidden='true'], [style*='display:none' i], [style*='display: none' i],"
    " [style*='visibility:hidden' i], [style*='visibility: hidden' i], script, style, template, rt, rp"
)
"""Elements that a browser does not show, or shows beside the text (readings of ruby)."""
_TAG = re.compile(r"<[^<>]*>")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrtfv/\\\"']))")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_TO_BASE64 = str.maketrans("-_", "+/")


def list_readable_texts(html: str | None, body: bytes, headers: Sequence[tuple[bytes, bytes]]) -> Iterator[str]:
    """Yield the readable texts of a recorded response: its document, or a body without a stated encoding that is text
    nevertheless, and its headers.
    """
    yield "\n".join(value.decode("utf-8", "replace") for _, value in headers)
    if html is None:
        if b"\0" in body[:SAMPLE_BYTES]:
            return
        html = body.decode("utf-8", "replace")
    tree = LexborHTMLParser(html)
    if tree.root is not None:
        yield tree.root.text(separator="")
        yield tree.root.text(separator=" ")
        if hidden := _outermost(tree.css(_HIDDEN)):
            for node in hidden:
                node.decompose()
            yield tree.root.text(separator="")
    source = _decode_escapes(unescape(unescape(html)))
    yield source
    if "<" in source:
        yield _TAG.sub("", source)
    yield "\n".join(_decode_base64(html))


def _outermost(nodes: Sequence[LexborNode]) -> list[LexborNode]:
    """Return the nodes that are in none of the others: one that was removed with another must not be touched again.

    Nodes for which more than `MAX_CLIMBS` parents would have to be looked at in all are left out.
    """
    ids, outermost, climbs = {node.mem_id for node in nodes}, list[LexborNode](), 0
    for node in nodes:
        parent = node.parent
        while parent is not None and parent.mem_id not in ids and climbs < MAX_CLIMBS:
            parent, climbs = parent.parent, climbs + 1
        if parent is None:
            outermost.append(node)
    return outermost


def _decode_escapes(text: str) -> str:
    r"""Return a text with the escapes of JavaScript and JSON (`\u0041`, `\x41`, `\n`) and of URLs (`%41`) decoded."""
    if "\\" in text:
        text = _ESCAPE.sub(_decode_escape, text)
        if _SURROGATE.search(text):  # a character beyond 16 bits is escaped as two halves
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unquote(text) if "%" in text else text


def _decode_escape(match: re.Match[str]) -> str:
    code = next((digits for digits in match.groups()[:3] if digits), "")
    if not code:
        return match[4] if match[4] in "/\\\"'" else " "
    number = int(code, 16)
    return chr(number) if number <= 0x10FFFF else " "


def _decode_base64(text: str) -> Iterator[str]:
    """Yield the texts in a document that are encoded as base64."""
    for match in _BASE64.finditer(text):
        encoded = match[0].rstrip("=").translate(_TO_BASE64)
        try:
            yield b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
        except (Base64Error, UnicodeDecodeError):
            continue
