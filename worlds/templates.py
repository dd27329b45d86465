"""Layouts of the sites: one per kind of site, each with markup and a small style sheet of its own.

The parameter `content` is HTML already; everything else is text and is escaped here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape

from webemu.worlds.site_directory import render_link
from webemu.worlds.web import Site

Layout = Callable[[Site, str, str], tuple[str, str]]
"""Function from (site, content, aside) to (style sheet, body)."""


def render_table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a `<table>`. The cells of `head` and the caption are text, the cells of `rows` are HTML."""
    header_cells = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<table class="wide">{title}<thead><tr>{header_cells}</tr></thead>\n<tbody>\n{body}</tbody></table>\n'


def render_list(items: Iterable[str], css_class: str = "") -> str:
    """Return a `<ul>` of items that are HTML; `css_class` is its class."""
    return f'<ul class="{css_class}">\n' + "".join(f"<li>{item}</li>\n" for item in items) + "</ul>\n"


def render_pager(path: str, page: int, pages: int) -> str:
    """Return links between the pages of a list; page 1 is `path` itself. Empty if there is only one page."""
    if pages < 2:
        return ""
    separator = "&" if "?" in path else "?"

    def link_to_page(n: int, text: str) -> str:
        return render_link(path if n == 1 else f"{path}{separator}page={n}", text)

    parts = [link_to_page(page - 1, "« Previous")] if page > 1 else []
    page_numbers = sorted({1, pages, *range(max(1, page - 2), min(pages, page + 2) + 1)})
    parts += [f"<b>{n}</b>" if n == page else link_to_page(n, str(n)) for n in page_numbers]
    parts += [link_to_page(page + 1, "Next »")] if page < pages else []
    return f'<p class="pager">{" ".join(parts)}</p>\n'


def render_page(
    site: Site, title: str, content: str, *, aside: str = "", head: str = "", description: str = "", charset: str = "UTF-8",
    language: str = "",
) -> str:  # fmt: skip
    """Return a whole document in the layout of `site`.

    `aside` and `head` are HTML. `charset` is what the page declares; `language` defaults to that of the site.
    """
    style, body = LAYOUTS[site.kind](site, content, aside)
    description_tag = f'<meta name="description" content="{escape(description)}">\n' if description else ""
    generator_tag = '<meta name="generator" content="MediaWiki 1.42.3">\n' if site.kind == "lexicon" else ""
    feed_tag = ""
    if site.feed_path:
        feed_tag = (
            f'<link rel="alternate" type="application/rss+xml" title="{escape(site.name)}" href="{site.feed_path}">\n'
        )
    return (
        f'<!DOCTYPE html>\n<html lang="{language or site.language}">\n<head>\n<meta charset="{charset}">\n'
        f'<title>{escape(title)}</title>\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{generator_tag}{description_tag}{feed_tag}{head}<style>{style.replace('ACCENT', site.accent)}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )  # fmt: skip


def _render_nav(site: Site) -> str:
    return " ".join(render_link(path, label) for path, label in site.nav)


def _render_footer(site: Site) -> str:
    links = [render_link("/about", "About"), render_link("/contact", "Contact"), render_link("/privacy", "Privacy")]
    return f"© 2024 {escape(site.name)} · " + " · ".join(links)


def _lexicon_layout(site: Site, content: str, aside: str) -> tuple[str, str]:
    style = (
        "body{margin:0;font:15px/1.6 Georgia,serif;color:#202122;background:#f6f6f4}#side{float:left;width:150px;padding:18px;"
        "font:13px sans-serif}#content{margin-left:190px;background:#fff;border:1px solid #c8ccd1;padding:18px 28px}h1,h2{"
        "font-weight:400;border-bottom:1px solid #c8ccd1}a{color:#0645ad;text-decoration:none}.infobox{float:right;width:280px;"
        "margin:0 0 12px 18px;border:1px solid #a2a9b1;background:#f8f9fa;font-size:13px;border-spacing:4px}.infobox th{"
        "text-align:left;vertical-align:top}.wide{border-collapse:collapse}.wide td,.wide th{border:1px solid #a2a9b1;padding:3px "
        "9px}#foot{font:12px sans-serif;color:#555;padding:18px 190px}.catlinks{border:1px solid #c8ccd1;padding:5px;font-size:13px}"
    )
    side = render_list(render_link(path, label) for path, label in site.nav)
    return style, (
        f'<div id="side"><strong>{escape(site.name)}</strong><br><em>{escape(site.tagline)}</em>{side}</div>\n'
        f'<main id="content" class="mw-body">\n{_frame_article(content)}</main>\n'
        f'<div id="foot">Text is available under a free licence. {_render_footer(site)}</div>'
    )


def _frame_article(content: str) -> str:
    """Return the content framed as MediaWiki does: the heading, the content with ids on its sections, the categories."""
    heading, _, body = content.partition("</h1>\n")
    body, separator, categories = body.partition('<div id="catlinks"')
    body = re.sub(
        r"<(h[23])>(.*?)</h", lambda match: f'<{match[1]} id="{match[2].replace(" ", "_")}">{match[2]}</h', body
    )
    frame = '<div id="mw-content-text" class="mw-body-content"><div class="mw-content-ltr mw-parser-output" lang="en" dir="ltr">'
    return f"{heading}</h1>\n{frame}\n{body}</div></div>\n{separator}{categories}"


def _news_layout(site: Site, content: str, aside: str) -> tuple[str, str]:
    style = (
        "body{margin:0;font:17px/1.55 'Times New Roman',serif;color:#111}header{border-bottom:4px double ACCENT;text-align:center;"
        "padding:14px}header .name{font-size:40px;color:ACCENT;text-decoration:none}nav{background:ACCENT;padding:6px;text-align:"
        "center}nav a{color:#fff;margin:0 12px;font:14px sans-serif}.cols{display:flex;max-width:1060px;margin:auto}main{flex:3;"
        "padding:20px}aside{flex:1;padding:20px;font:14px sans-serif;border-left:1px solid #ddd}.byline{color:#666;font:13px "
        "sans-serif}.teaser{border-bottom:1px solid #ddd}footer{font:12px sans-serif;padding:20px;text-align:center;color:#777}"
    )
    return style, (
        f'<header class="masthead"><a class="name" href="/">{escape(site.name)}</a><div>{escape(site.tagline)}</div></header>\n'
        f'<nav>{_render_nav(site)}</nav>\n<div class="cols"><main>\n{content}</main>\n<aside>{aside}</aside></div>\n<footer>{_render_footer(site)}</footer>'
    )


def _council_layout(site: Site, content: str, aside: str) -> tuple[str, str]:
    style = (
        "body{margin:0;font:16px/1.5 Verdana,sans-serif;background:#eef2f0}.top{background:ACCENT;color:#fff;padding:20px 40px}"
        ".top a{color:#fff}.menu{background:#fff;padding:10px 40px;border-bottom:3px solid ACCENT}.menu a{margin-right:18px}"
        "#text{background:#fff;margin:24px 40px;padding:24px;max-width:860px}dt{font-weight:bold}.foot{padding:20px 40px;font-size:"
        "12px}.wide td,.wide th{border-bottom:1px solid #bbb;padding:4px 10px;text-align:left}"
    )
    return style, (
        f'<div class="top"><h2><a href="/">{escape(site.name)}</a></h2><span>{escape(site.tagline)}</span></div>\n'
        f'<div class="menu" role="navigation">{_render_nav(site)}</div>\n<div id="text">\n{content}{aside}</div>\n<div class="foot">{_render_footer(site)}</div>'
    )


def _company_layout(site: Site, content: str, aside: str) -> tuple[str, str]:
    style = (
        "*{box-sizing:border-box}body{margin:0;font:16px/1.6 Helvetica,Arial,sans-serif;color:#333}.bar{display:flex;justify-content:"
        "space-between;padding:18px 6%}.bar b{font-size:22px;color:ACCENT}.bar a{margin-left:20px;color:#333;text-decoration:none}"
        ".hero{background:linear-gradient(120deg,ACCENT,#222);color:#fff;padding:56px 6%;font-size:22px}section{padding:28px 6%;"
        "max-width:980px}footer{background:#222;color:#bbb;padding:24px 6%}footer a{color:#ddd}.wide td,.wide th{padding:6px 14px;"
        "border-bottom:1px solid #ddd;text-align:left}"
    )
    return style, (
        f'<div class="bar"><b>{escape(site.name)}</b><div class="links">{_render_nav(site)}</div></div>\n'
        f'<div class="hero">{escape(site.tagline)}</div>\n<section>\n{content}</section>\n{aside}<footer>{_render_footer(site)}</footer>'
    )


def _forum_layout(site: Site, content: str, aside: str) -> tuple[str, str]:
    style = (
        "body{font:13px Tahoma,sans-serif;background:#dfe6ec;margin:10px}#wrap{background:#fff;border:1px solid #8aa;max-width:1000px;"
        "margin:auto}#hd{background:ACCENT;color:#fff;padding:12px;font-size:20px}#hd a{color:#fff}.crumb{padding:8px;background:#eef}"
        ".post{border:1px solid #bcd;margin:8px;display:flex}.who{width:150px;background:#f2f6fa;padding:8px}.msg{padding:8px;flex:1}"
        ".wide{width:100%;border-collapse:collapse}.wide td,.wide th{border:1px solid #bcd;padding:6px}.date{color:#789;font-size:11px}"
    )
    return style, (
        f'<div id="wrap"><div id="hd"><a href="/">{escape(site.name)}</a> <small>{escape(site.tagline)}</small></div>\n'
        f'<div class="crumb">{_render_nav(site)}</div>\n{content}{aside}<div class="crumb">{_render_footer(site)} · Powered by tinyboard 2.4</div></div>'
    )


def _blog_layout(site: Site, content: str, aside: str) -> tuple[str, str]:
    style = (
        "body{font:18px/1.7 Palatino,serif;max-width:680px;margin:40px auto;padding:0 20px;color:#2b2b2b;background:#fffdf8}h1 a,.entry "
        "a{color:ACCENT}.meta{font-size:14px;color:#888}nav a{margin-right:14px}.side{border-top:1px dotted #aaa;font-size:15px}"
    )
    return style, (
        f'<div class="blog-title"><h3><a href="/">{escape(site.name)}</a></h3><p>{escape(site.tagline)}</p><nav>{_render_nav(site)}</nav></div>\n'
        f'<article class="entry">\n{content}</article>\n<div class="side">{aside}</div><p class="meta">{_render_footer(site)}</p>'
    )


def _shop_layout(site: Site, content: str, aside: str) -> tuple[str, str]:
    style = (
        "body{margin:0;font:15px/1.5 'Segoe UI',sans-serif;background:#fafafa}.head{background:#fff;border-bottom:1px solid #ddd;padding:"
        "14px 5%}.head b{color:ACCENT;font-size:24px}.head a{margin:0 9px}.main{padding:20px 5%}.price{font-size:26px;color:ACCENT}.card{"
        "display:inline-block;width:220px;border:1px solid #ddd;background:#fff;margin:6px;padding:12px;vertical-align:top}.buy{background:"
        "ACCENT;color:#fff;padding:8px 16px;display:inline-block}.spec th{text-align:left;padding-right:20px}"
    )
    return style, (
        f'<div class="head"><b>{escape(site.name)}</b> <i>{escape(site.tagline)}</i> <span>{_render_nav(site)}</span> <span>Basket (0)</span></div>\n'
        f'<div class="main">\n{content}{aside}</div>\n<div class="head">{_render_footer(site)} · Prices include VAT</div>'
    )


def _database_layout(site: Site, content: str, aside: str) -> tuple[str, str]:
    style = (
        "body{margin:0;background:#1d1f21;color:#ddd;font:15px/1.6 'Trebuchet MS',sans-serif}a{color:ACCENT}#top{padding:12px 30px;"
        "background:#000}#top a{margin-right:16px}#box{display:grid;grid-template-columns:3fr 1fr;gap:24px;padding:24px 30px}dl.data dt{"
        "float:left;width:130px;color:#999}dl.data dd{margin:0 0 4px 140px}.wide td{padding:3px 12px}"
    )
    return style, (
        f'<div id="top"><strong>{escape(site.name)}</strong> {_render_nav(site)}</div>\n<div id="box"><div>\n{content}</div><div>{aside}</div></div>\n'
        f'<div id="top">{_render_footer(site)}</div>'
    )


def _magazine_layout(site: Site, content: str, aside: str) -> tuple[str, str]:
    style = (
        "body{margin:0;font:16px/1.65 Cambria,serif;color:#333;background:#fff}.banner{background:ACCENT;color:#fff;padding:26px 8%}.banner a{"
        "color:#fff;text-decoration:none;font-size:30px}.tabs{padding:10px 8%;border-bottom:1px solid #eee}.tabs a{margin-right:16px}.page{"
        "padding:16px 8%;max-width:900px}.item{border-left:4px solid ACCENT;padding-left:14px;margin:16px 0}.wide td,.wide th{padding:4px 12px;"
        "border-bottom:1px solid #ddd;text-align:left}"
    )
    return style, (
        f'<div class="banner"><a href="/">{escape(site.name)}</a><div>{escape(site.tagline)}</div></div>\n<div class="tabs">{_render_nav(site)}</div>\n'
        f'<div class="page">\n{content}{aside}</div>\n<div class="tabs">{_render_footer(site)}</div>'
    )


def _office_layout(site: Site, content: str, aside: str) -> tuple[str, str]:
    style = (
        "body{font:14px/1.5 Arial,sans-serif;margin:0;color:#222}#brand{background:#f0f0f0;border-top:6px solid ACCENT;padding:14px 24px}"
        "#path{padding:6px 24px;font-size:12px}#path a{margin-right:10px}#doc{padding:10px 24px}.wide{border-collapse:collapse}.wide th{"
        "background:ACCENT;color:#fff;padding:4px 10px}.wide td{border:1px solid #ccc;padding:4px 10px;text-align:right}.wide td:first-child{"
        "text-align:left}"
    )
    return style, (
        f'<div id="brand"><b>{escape(site.name)}</b><br>{escape(site.tagline)}</div>\n<div id="path">{_render_nav(site)}</div>\n'
        f'<div id="doc">\n{content}{aside}</div>\n<div id="path">{_render_footer(site)}</div>'
    )


def _plain_layout(site: Site, content: str, aside: str) -> tuple[str, str]:
    style = "body{background:#fffff0;font-family:serif;margin:20px}hr{color:ACCENT}"
    return style, f"<center>{_render_nav(site)}</center>\n{content}{aside}<hr>\n<small>{_render_footer(site)}</small>"


LAYOUTS: dict[str, Layout] = {
    "lexicon": _lexicon_layout, "news": _news_layout, "council": _council_layout, "firm": _company_layout, "forum": _forum_layout, "blog": _blog_layout, "shop": _shop_layout,
    "database": _database_layout, "magazine": _magazine_layout, "office": _office_layout, "plain": _plain_layout,
}  # fmt: skip
"""Layouts by `Site.kind`."""
