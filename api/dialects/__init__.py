"""Every search and scraping service that agents are written against, each as one small module.

A service is a `Dialect`: its host names, routes, parameters and errors. `DIALECTS` lists them; nothing else has to be
registered to serve a new one. `webemu.api.dialects.dialect` defines the type and how a request becomes a response.
"""

from webemu.api.dialects import (
    asearcher,
    bing,
    bing_pages,
    brave,
    browsecomp_plus,
    deepresearchgym,
    duckduckgo,
    engines,
    exa,
    firecrawl,
    google,
    jina,
    jina_search,
    kagi,
    linkup,
    nemo_gym,
    openresearcher,
    perplexity,
    search_r1,
    searxng,
    serpapi,
    serper,
    tavily,
    you,
)
from webemu.api.dialects.dialect import Dialect

DIALECTS: tuple[Dialect, ...] = (
    exa.DIALECT,
    serper.DIALECT,
    search_r1.DIALECT,
    asearcher.DIALECT,
    browsecomp_plus.DIALECT,
    openresearcher.DIALECT,
    deepresearchgym.DIALECT,
    jina.DIALECT,
    jina_search.DIALECT,
    serpapi.DIALECT,
    brave.DIALECT,
    bing.DIALECT,
    google.DIALECT,
    searxng.DIALECT,
    duckduckgo.DIALECT,
    bing_pages.DIALECT,
    engines.DIALECT,
    engines.STARTPAGE_DIALECT,
    perplexity.DIALECT,
    tavily.DIALECT,
    firecrawl.DIALECT,
    linkup.DIALECT,
    you.DIALECT,
    kagi.DIALECT,
    nemo_gym.DIALECT,
)
"""All dialects, in the order in which a request to this server's root is offered to them."""
