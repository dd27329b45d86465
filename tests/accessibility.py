"""The accessibility checker axe-core, over a page in a real browser."""

from __future__ import annotations

from importlib.resources import files
from importlib.util import find_spec
from itertools import product

import pytest
from playwright.sync_api import Browser

RUN = """axe.run(document, {iframes: false,
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})"""
needs_axe = pytest.mark.skipif(
    find_spec("axe_playwright_python") is None, reason="axe-playwright-python is not installed"
)


def list_serious_findings(browser: Browser, url: str) -> list[tuple[object, ...]]:
    """Return what axe finds serious or critical, on a phone and a desktop, light and dark, with all details open."""
    script = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    findings: list[tuple[object, ...]] = []
    for width, scheme in product((390, 1280), ("light", "dark")):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            bypass_csp=True,
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        page = context.new_page()
        page.goto(url)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        page.wait_for_timeout(300)
        page.evaluate(script)  # evaluated in the page, whose policy would not let it in
        findings += [
            (width, scheme, violation["id"], violation["nodes"][0]["html"][:200])
            for violation in page.evaluate(RUN)["violations"]
            if violation["impact"] in ("serious", "critical")
        ]
        context.close()
    return findings
