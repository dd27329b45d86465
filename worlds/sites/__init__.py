"""Sites of the invented web, one module per kind of site; `list_sites` collects them."""

from __future__ import annotations

from webemu.worlds.site_directory import Atlas
from webemu.worlds.sites.catalogues import catalogues
from webemu.worlds.sites.encyclopedia import encyclopedia
from webemu.worlds.sites.forums_and_blogs import gatherings
from webemu.worlds.sites.gazetteer import gazetteers
from webemu.worlds.sites.guides import guides
from webemu.worlds.sites.listings import listings
from webemu.worlds.sites.news import newspapers
from webemu.worlds.sites.official import councils, statistics
from webemu.worlds.sites.organisation_sites import firms, universities
from webemu.worlds.web import Site

KINDS = (
    encyclopedia,
    newspapers,
    councils,
    statistics,
    universities,
    firms,
    catalogues,
    gatherings,
    guides,
    listings,
    gazetteers,
)
"""Functions that build the sites of one kind, in the order in which they are crawled."""


def all_sites(atlas: Atlas) -> list[Site]:
    """Return every site of the web, in a fixed order."""
    return [site for kind in KINDS for site in kind(atlas)]
