"""The sites of the invented web, one module per kind; `all_sites` is the list of them."""

from __future__ import annotations

from webemu.ingest.synth.atlas import Atlas
from webemu.ingest.synth.sites.catalogues import catalogues
from webemu.ingest.synth.sites.encyclopedia import encyclopedia
from webemu.ingest.synth.sites.firms import firms, universities
from webemu.ingest.synth.sites.gatherings import gatherings
from webemu.ingest.synth.sites.gazetteer import gazetteers
from webemu.ingest.synth.sites.guides import guides
from webemu.ingest.synth.sites.listings import listings
from webemu.ingest.synth.sites.news import newspapers
from webemu.ingest.synth.sites.official import councils, statistics
from webemu.ingest.synth.web import Site

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
