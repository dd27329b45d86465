"""Page readers that refuse private addresses or bring authorities of their own, as published, under `webemu run`."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.clients.conftest import LEXICON
from webemu.api.proxy.run import find_unshare_flags

PROBLEM = find_unshare_flags()[2]
READERS = {
    "trafilatura": "import trafilatura; print(trafilatura.extract(trafilatura.fetch_url(sys.argv[1])))",
    "pydantic_ai": (
        "import asyncio; from pydantic_ai.common_tools.web_fetch import web_fetch_tool\n"
        "print(asyncio.run(web_fetch_tool().function(sys.argv[1])))"
    ),
    "crewai_tools": "import crewai_tools; print(crewai_tools.ScrapeWebsiteTool(website_url=sys.argv[1]).run())",
    "langchain_community": (
        "from langchain_community.document_loaders import AsyncHtmlLoader, WebBaseLoader\n"
        "for loader in (AsyncHtmlLoader, WebBaseLoader): print(loader([sys.argv[1]]).load()[0].page_content)"
    ),
    "newspaper": "import newspaper; print(newspaper.article(sys.argv[1]).html)",
    "curl_cffi": "import curl_cffi; print(curl_cffi.get(sys.argv[1], impersonate='chrome').text)",
    "certifi": "import certifi, requests; print(requests.get(sys.argv[1], verify=certifi.where()).text)",
}
"""Programs that print the page at a URL, by the module that each of them needs."""


@pytest.mark.skipif(bool(PROBLEM), reason=f"no network of its own: {PROBLEM}")
@pytest.mark.parametrize("module", READERS)
def test_a_page_is_read_as_in_the_open_web(collection: Path, module: str) -> None:
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    program = [sys.executable, "-c", f"import sys\n{READERS[module]}", LEXICON]
    command = [sys.executable, "-m", "webemu.emulator.cli", "run", "--root", str(collection), "--", *program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "OpenLexicon" in done.stdout, done.stderr
