"""Sites of the invented web, one module per kind of site; `list_sites` collects them."""

from __future__ import annotations

from webemu.worlds.site_directory import SiteDirectory
from webemu.worlds.sites.catalogues import build_catalogues
from webemu.worlds.sites.encyclopedia import build_encyclopedia
from webemu.worlds.sites.forums_and_blogs import build_gatherings
from webemu.worlds.sites.gazetteer import build_gazetteer
from webemu.worlds.sites.guides import build_guides
from webemu.worlds.sites.listings import build_listings
from webemu.worlds.sites.news import build_newspapers
from webemu.worlds.sites.official import build_councils, build_statistics_office
from webemu.worlds.sites.organisation_sites import build_company_sites, build_university_sites
from webemu.worlds.web import Site

SITE_BUILDERS = (
    build_encyclopedia,
    build_newspapers,
    build_councils,
    build_statistics_office,
    build_university_sites,
    build_company_sites,
    build_catalogues,
    build_gatherings,
    build_guides,
    build_listings,
    build_gazetteer,
)
"""Functions that build the sites of one kind, in the order in which they are crawled."""


def list_sites(directory: SiteDirectory) -> list[Site]:
    """Return every site of the web, in a fixed order."""
    return [site for build_sites in SITE_BUILDERS for site in build_sites(directory)]
