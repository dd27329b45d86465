# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "cdx-toolkit==0.9.39",
#   "comcrawl==1.0.2",
#   "waybackpy==3.0.6",
#   "requests==2.34.2",
# ]
# ///
"""Web archives: clients of the Wayback Machine and of Common Crawl."""

import sys


def read_waybackpy(url):
    """Read a page's last capture with waybackpy."""
    import requests
    from waybackpy import WaybackMachineCDXServerAPI

    capture = WaybackMachineCDXServerAPI(url, "Mozilla/5.0").newest()
    return requests.get(capture.archive_url, timeout=20).text


def read_cdx_toolkit(url):
    """Read a page's captures of Common Crawl with cdx-toolkit."""
    import cdx_toolkit

    return [capture.content.decode() for capture in cdx_toolkit.CDXFetcher(source="cc").iter(url, limit=1)]


def read_comcrawl(url):
    """Read a page's captures with comcrawl."""
    from comcrawl import IndexClient

    client = IndexClient()
    client.search(url)
    client.download()
    return [result["html"] for result in client.results]


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
