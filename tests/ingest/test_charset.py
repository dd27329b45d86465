"""The encoding of a document: a BOM goes before the header, the header before a declaration, that before a guess."""

import os
import re
from pathlib import Path

import pytest

from webemu.ingest.extract import extract_html, sniff_charset
from webemu.ingest.extract.charset import PRESCAN_BYTES, resolve_label

SHARED = os.environ.get("WEBEMU_SHARED")
BYTES = b"<p>\xc3\xbd\xc3\xa4"
LATIN9 = b"<meta charset=iso-8859-15>" + BYTES


@pytest.mark.parametrize(
    ("body", "header", "hint", "expected"),
    [
        (b"\xef\xbb\xbf" + LATIN9, "koi8-r", "gbk", "utf-8"),
        (b"\xff\xfe" + "<p>x".encode("utf-16-le"), "koi8-r", None, "utf-16le"),
        (b"\xfe\xff" + "<p>x".encode("utf-16-be"), "koi8-r", None, "utf-16be"),
        (LATIN9, "koi8-r", "gbk", "koi8-r"),
        (LATIN9, None, "gbk", "iso-8859-15"),
        (LATIN9, "no-such-charset", "gbk", "iso-8859-15"),
        (b"<meta charset=no-such-charset>\xfd", None, "windows-1250", "windows-1250"),
        (BYTES, None, None, "utf-8"),
        (b"<p>plain", None, None, "utf-8"),
    ],
    ids="BOM-8 BOM-16LE BOM-16BE header meta unknown-header hint guess ascii".split(),
)
def test_precedence(body: bytes, header: str | None, hint: str | None, expected: str) -> None:
    assert sniff_charset(body, header, hint) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r"),
        (b"<META CHARSET='koi8-r' >", "koi8-r"),
        (b'<meta content="text/html; charset=koi8-r">', "utf-8"),
        (b'<meta name="x" content="charset=koi8-r">', "utf-8"),
        (b"<!-- <meta charset=koi8-r> --><meta charset=gbk>", "gb18030"),
        (b"<p title='<meta charset=koi8-r>'><meta charset=gbk>", "gb18030"),
        (b"<meta charset=koi8-r><meta charset=gbk>", "koi8-r"),
        (b"<meta charset=utf-16><p>x", "utf-8"),
        (b"<meta charset=x-user-defined>", "windows-1252"),
        (b'<?xml version="1.0" encoding="koi8-r"?><html>', "koi8-r"),
        (b'<?xml version="1.0" encoding="koi8-r"?><meta charset=gbk>', "gb18030"),
        (b"<p>" + b" " * PRESCAN_BYTES + b"<meta charset=koi8-r>", "koi8-r"),
    ],
)
def test_declarations_are_read_as_the_prescan_reads_them(body: bytes, expected: str) -> None:
    assert sniff_charset(body) == expected


def test_a_last_character_that_is_cut_does_not_change_the_encoding() -> None:
    assert sniff_charset("Hélène é".encode()[:-1], media_type="text/plain") == "utf-8"
    assert b"caf\xe9".decode(sniff_charset(b"caf\xe9", media_type="text/plain")) == "café"


def test_a_hint_that_the_bytes_contradict_is_not_believed() -> None:
    assert sniff_charset(b"caf\xe9", hint="utf-8", media_type="text/plain") != "utf-8"
    assert sniff_charset(b"\xcf\xf0\xe8\xe2\xe5\xf2", hint="windows-1251", media_type="text/plain") == "windows-1251"


def test_json_is_utf_8_whatever_its_header_says() -> None:
    assert sniff_charset(b'{"a": "\xc3\xa9"}', "iso-8859-1", media_type="application/json") == "utf-8"


def test_xml_is_utf_8_unless_it_says_otherwise() -> None:
    assert sniff_charset(b"<?xml version='1.0'?><a>\xe9</a>", media_type="application/xml") == "utf-8"
    assert (
        sniff_charset(b"<?xml version='1.0' encoding='latin1'?><a>\xe9</a>", media_type="application/xml")
        == "windows-1252"
    )
    assert sniff_charset("<?xml version='1.0'?><a/>".encode("utf-16-le"), media_type="application/xml") == "utf-16le"


@pytest.mark.parametrize(
    ("label", "raw", "text"),
    [
        ("iso-8859-1", b"\x80\x93x\x94", "€“x”"),
        ("ascii", b"\x80", "€"),
        ("gb2312", "镕".encode("gbk"), "镕"),
        ("shift_jis", b"\x87\x40", "①"),
        ("ks_c_5601-1987", "똠".encode("cp949"), "똠"),
        ("big5", "嘅".encode("big5hkscs"), "嘅"),
        (" UTF8 ", "é".encode(), "é"),
        ("iso-8859-11", b"\xa1\x80", "ก€"),
        ("x-mac-cyrillic", b"\x80", "А"),
    ],
)
def test_labels_mean_what_browsers_take_them_for(label: str, raw: bytes, text: str) -> None:
    codec = resolve_label(label)
    assert codec is not None
    assert raw.decode(codec) == text


@pytest.mark.parametrize(
    "label",
    "utf-8 ibm866 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-8-i "
    "iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u macintosh windows-874 windows-1250 "
    "windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 "
    "x-mac-cyrillic gbk gb18030 big5 euc-jp iso-2022-jp shift_jis euc-kr utf-16be utf-16le x-user-defined".split(),
)
def test_every_encoding_of_the_standard_has_a_codec(label: str) -> None:
    codec = resolve_label(label)
    assert codec is not None
    assert isinstance(bytes(range(256)).decode(codec, "replace"), str)


def test_shift_jis_is_declared_and_guessed() -> None:
    text = "東京は日本の首都であり、世界でも有数の大都市です。①" * 5
    assert sniff_charset(b"<meta charset=Shift_JIS>" + text.encode("cp932")) == "cp932"
    assert text.encode("cp932").decode(sniff_charset(text.encode("cp932"), media_type="text/plain")) == text


@pytest.mark.parametrize("label", ["", "hex", "idna", "rot13", "unicode_escape", "utf-7", "é", "\0", "x" * 10_000])
def test_names_of_python_codecs_are_no_labels(label: str) -> None:
    assert resolve_label(label) is None


@pytest.mark.skipif(SHARED is None, reason="WEBEMU_SHARED does not name the folder of the encoding pages")
@pytest.mark.parametrize(
    ("number", "encoding", "title"),
    [
        ("001", "iso-8859-15", "HTTP charset"),
        ("003", "utf-16le", "UTF-16LE BOM"),
        ("004", "utf-16le", "UTF-16BE BOM"),
        ("007", "iso-8859-15", "meta content attribute"),
        ("009", "iso-8859-15", "meta charset attribute"),
        ("015", "utf-8", ""),
        ("016", "iso-8859-15", "HTTP vs meta content"),
    ],
)
def test_pages_of_the_web_platform_tests(number: str, encoding: str, title: str) -> None:
    page = Path(SHARED or ".") / "data" / "warc" / "_encoding" / f"the-input-byte-stream-{number}.html"
    headers = page.with_name(page.name + ".headers")
    stated = re.search(r"charset=(\S+)", headers.read_text() if headers.exists() else "")
    body = page.read_bytes()
    codec = sniff_charset(body, stated[1] if stated else None)
    assert codec == encoding
    assert title in extract_html(body.decode(codec), "http://w3.org/").title
