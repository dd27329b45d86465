"""Two LangChain tools, `search` and `open_page`, that call the native API of webemu with the standard library alone.

Usage: python examples/langchain_tool.py [QUERY]

Give `build_tools()` to any LangChain agent. Without LangChain the functions can be called as they are, which is what
this program does with the query.
"""

import json
import os
import sys
from urllib.parse import urlencode
from urllib.request import urlopen

SERVER = os.environ.get("WEBEMU_SERVER", "http://127.0.0.1:8800")


def _get(path: str, **params: object) -> dict:
    with urlopen(f"{SERVER}{path}?{urlencode(params)}", timeout=60) as response:
        return json.load(response)


def search(query: str) -> str:
    """Search the web. Returns the title, address and snippet of five results."""
    results = _get("/v1/search", q=query, size=5)["results"]
    return "\n\n".join(f"{hit['title']}\n{hit['url']}\n{hit['snippet']}" for hit in results) or "No results."


def open_page(url: str) -> str:
    """Open a page by its address. Returns the first 4,000 characters of its text."""
    return _get("/v1/fetch", url=url, format="markdown", length=4000)["content"]


def build_tools() -> list:
    """Return both functions as LangChain tools. Raises ImportError if `langchain-core` is not installed."""
    from langchain_core.tools import tool

    return [tool(search), tool(open_page)]


def main(query: str) -> None:
    """Search, and read the first result."""
    results = search(query)
    print(results)
    if results != "No results.":
        print("\n---\n", open_page(results.splitlines()[1])[:300], sep="")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "lighthouse museum")
