# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "browser-use==0.13.14",
#   "playwright==1.65.2",
#   "selenium==4.51.0",
# ]
# ///
"""Browsers: those of the system under automation, with the system's Chromium (`CHROMIUM` names another)."""

import asyncio
import os
import shutil
import sys

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


def read_playwright(url):
    """Read a page with playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(url)
        return page.inner_text("body")


def read_selenium(url):
    """Read a page with selenium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    options.add_argument("--headless=new")
    options.add_argument("--no-sandbox")
    with webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver"))) as driver:
        driver.get(url)
        return driver.find_element("tag name", "body").text


def read_browser_use(url):
    """Read a page with the browser of browser-use."""
    from browser_use.browser import BrowserProfile, BrowserSession

    async def browse():
        profile = BrowserProfile(executable_path=CHROMIUM, headless=True, chromium_sandbox=False)
        session = BrowserSession(browser_profile=profile)
        await session.start()
        try:
            await session.navigate_to(url)
            return await session.get_state_as_text()
        finally:
            await session.kill()

    return asyncio.run(browse())


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
