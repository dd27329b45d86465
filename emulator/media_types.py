"""Media types of captures, by what can be read of them."""


def is_html(mime: str) -> bool:
    """True if the type is an HTML document's."""
    return mime in ("text/html", "application/xhtml+xml")


def is_textual(mime: str) -> bool:
    """True if a body of this type has a text view."""
    return mime.startswith("text/") or mime.endswith(("xml", "json")) or mime == "application/pdf"
