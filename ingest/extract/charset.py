"""Detection of a document's encoding, by the precedence of the HTML standard: BOM, transport, declaration, guess.

Results name Python codecs that decode what browsers decode, under WHATWG names where Python knows them. Sources:
encoding.spec.whatwg.org (labels), html.spec.whatwg.org "determining the character encoding" (prescan).
"""

from __future__ import annotations

import codecs
import re

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

PRESCAN_BYTES = 1024
"""Bytes that browsers search for a declaration before they parse."""
_LATE_META_BYTES = 16_384
"""Bytes that are searched for a declaration which comes after the prescan."""
_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xfe\xff", "utf-16be"),
    (b"\xff\xfe", "utf-16le"),
)
_CODEC_NAMES = {
    "cp1252": "windows-1252",
    "gbk": "gb18030",  # WHATWG decodes gbk and gb2312 with gb18030's decoder
    "shift_jis": "cp932",  # Python's own shift_jis lacks the extensions browsers decode
    "euc_kr": "cp949",  # WHATWG's euc-kr is windows-949, which Python knows under this name only
    "big5": "big5hkscs",
    "euc_jp": "euc-jp",
    "iso2022_jp": "iso-2022-jp",
    "iso8859-11": "cp874",
    "mac-roman": "macintosh",
    "utf-16-le": "utf-16le",
    "utf-16-be": "utf-16be",
    "cp866": "ibm866",
}
"""Names of codecs by the name that resiliparse gives them."""
_EXTRA_LABELS = {
    "x-mac-cyrillic": "mac-cyrillic",
    "x-mac-ukrainian": "mac-cyrillic",
    "x-user-defined": "windows-1252",
}
"""Codecs of labels that resiliparse does not map."""
_TAG_PATTERN = re.compile(
    rb"<!--.*?(?:-->|\Z)|<meta[\s/](?P<meta>(?:[^>\"']|\"[^\"]*\"|'[^']*')*)|</?[a-z](?:[^>\"']|\"[^\"]*\"|'[^']*')*|<[!/?][^>]*",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(rb"([^\s\"'>/=]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+)))?")
_CONTENT_CHARSET = re.compile(rb"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;\"']+))", re.IGNORECASE)
_XML_DECLARATION = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([^\"'>]+)[\"']")


def resolve_label(label: str | bytes | None) -> str | None:
    """Return the codec for an encoding label, or None if browsers do not know the label.

    resolve_label("latin1")  # "windows-1252"
    """
    if not label:
        return None
    text = (label.decode("latin-1") if isinstance(label, bytes) else label).strip().lower()
    codec = _EXTRA_LABELS.get(text)
    if codec is None:
        mapped = map_encoding_to_html5(text, False) if text.isascii() else None
        if mapped is None:
            return None
        codec = _CODEC_NAMES.get(mapped) or _to_whatwg_name(mapped)
    try:
        codecs.lookup(codec)
    except LookupError:
        return None
    return codec


def _to_whatwg_name(codec: str) -> str:
    if codec.startswith("cp125"):
        return "windows-" + codec[2:]
    return codec.replace("iso8859", "iso-8859")


def sniff_charset(
    body: bytes, http_charset: str | None = None, hint: str | None = None, media_type: str = "text/html"
) -> str:
    r"""Return the encoding of a text body. Never raises.

    `media_type` is that of the body; `hint` is the charset that the crawler detected, and is believed only if the bytes
    do not contradict it.

        sniff_charset(b"<meta charset=latin1>caf\xe9")  # "windows-1252"
    """
    for bom, name in _BOMS:
        if body.startswith(bom):
            return name
    if media_type.endswith("json"):
        return "utf-8"
    return (
        resolve_label(http_charset)
        or _find_declared_charset(body, media_type)
        or _check_hint(hint, body)
        or _guess_charset(body)
    )


def _find_declared_charset(body: bytes, media_type: str) -> str | None:
    """Return the encoding that a text body declares by its first bytes, a meta element or an XML declaration."""
    # "<?x" in UTF-16 without a BOM.
    if body.startswith((b"<\0?\0x\0", b"\0<\0?\0x")):
        return "utf-16le" if body[0] else "utf-16be"
    if media_type == "text/plain":
        return None
    return (
        _find_meta_charset(body[:PRESCAN_BYTES])
        or _find_xml_charset(body[:PRESCAN_BYTES], media_type)
        or _find_late_meta_charset(body)
    )


def _find_xml_charset(head: bytes, media_type: str) -> str | None:
    """Return the encoding of an XML declaration. XML without one is UTF-8; HTML without one is undecided (None)."""
    if not head.startswith(b"<?xml"):
        return None
    if match := _XML_DECLARATION.match(head):
        return _replace_utf16(resolve_label(match[1]))
    return "utf-8" if media_type.endswith("xml") else None


def _find_late_meta_charset(body: bytes) -> str | None:
    """Return the encoding of a declaration after the prescan.

    The parser of the HTML standard restarts when it meets one ("change the encoding").
    """
    head = body[:_LATE_META_BYTES]
    if len(body) <= PRESCAN_BYTES or b"charset" not in head[PRESCAN_BYTES - 16 :].lower():
        return None
    return _find_meta_charset(head)


def _find_meta_charset(head: bytes) -> str | None:
    """Return the encoding of the first meta element that declares a known one."""
    if b"charset" not in head.lower():
        return None
    for tag in _TAG_PATTERN.finditer(head):
        if (attributes := tag["meta"]) is not None and (name := _replace_utf16(_parse_meta_charset(attributes))):
            return name
    return None


def _replace_utf16(name: str | None) -> str | None:
    """Return UTF-8 for UTF-16: a declaration that could be read as ASCII cannot be in UTF-16."""
    return "utf-8" if name in ("utf-16le", "utf-16be") else name


def _parse_meta_charset(attributes: bytes) -> str | None:
    values: dict[bytes, bytes] = {}
    for match in _ATTRIBUTE.finditer(attributes):
        values.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")
    if b"charset" in values:
        return resolve_label(values[b"charset"])
    if values.get(b"http-equiv", b"").lower() == b"content-type":
        charset = _CONTENT_CHARSET.search(values.get(b"content", b""))
        return resolve_label(charset[1] or charset[2] or charset[3]) if charset else None
    return None


def _check_hint(hint: str | None, body: bytes) -> str | None:
    """Return the codec of the hint, or None if the bytes plainly contradict it."""
    name = resolve_label(hint)
    return None if name == "utf-8" and not _is_utf8(body[:65_536]) else name


def _guess_charset(body: bytes) -> str:
    if _is_utf8(body[:65_536]):
        return "utf-8"
    return resolve_label(detect_encoding(body[:131_072])) or "windows-1252"


def _is_utf8(start: bytes) -> bool:
    """True if the bytes are UTF-8; `start` may end in the middle of a character."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    # A character cut at the end proves nothing if it is the only one beyond ASCII.
    return not text.isascii() or len(text) == len(start)
