"""The sites of the invented web, one module per kind; `all_sites` is the list of them."""

from __future__ import annotations

from ingest.synth.atlas import Atlas
from ingest.synth.sites.catalogues import catalogues
from ingest.synth.sites.encyclopedia import encyclopedia
from ingest.synth.sites.firms import firms, universities
from ingest.synth.sites.gatherings import gatherings
from ingest.synth.sites.gazetteer import gazetteers
from ingest.synth.sites.guides import guides
from ingest.synth.sites.listings import listings
from ingest.synth.sites.news import newspapers
from ingest.synth.sites.official import councils, statistics
from ingest.synth.web import Site

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


def all_sites(atlas: Atlas) -> list[Site]:
    """Every host of the web, in a fixed order."""
    return [site for kind in KINDS for site in kind(atlas)]
