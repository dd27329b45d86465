# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "qwen-agent[rag]==0.0.34",
#   "soundfile==0.14.0",
#   "tqdm==4.70.1",
#   "python-dateutil==4.0.0",
# ]
# ///
"""Qwen-Agent: its search tool and its page reader."""

import sys


def search_web(query):
    """Search with the web_search tool of qwen-agent, which asks Serper."""
    from qwen_agent.tools import WebSearch

    return WebSearch().call({"query": query})


def read_web_extractor(url):
    """Read a page with the web_extractor tool of qwen-agent."""
    from qwen_agent.tools import WebExtractor

    return WebExtractor().call({"url": url})


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
