"""One whole pick: each request of the plan that is not finished is sent, its records are checked and written."""

from __future__ import annotations

import sys
from pathlib import Path

from tqdm import tqdm

from webemu.ingest.pick.journal import PickFolder, open_folder
from webemu.ingest.pick.members import find_flaw
from webemu.ingest.pick.plan import Plan, RangeRequest
from webemu.ingest.pick.range_client import RangeClient


def fetch_records(plan: Plan, client: RangeClient, out: Path, quiet: bool = False) -> PickFolder:
    """Fetch the records of a plan into WARC files below `out`, continuing an earlier run of the same plan.

    Raises SourceError if `out` belongs to another plan, or if the server refuses a file or keeps failing.
    """
    folder = open_folder(out, plan.fingerprint)
    with tqdm(
        total=plan.download_bytes, unit="B", unit_scale=True, desc="fetching", disable=quiet, file=sys.stderr
    ) as bar:
        for request in plan.requests:
            if request.name not in folder.finished:
                _fetch_request(request, client, folder)
            bar.update(request.end - request.start)
    return folder


def _fetch_request(request: RangeRequest, client: RangeClient, folder: PickFolder) -> None:
    """Fetch one range, and add the sound records of it to the folder."""
    content = client.read(request.filename, request.start, request.end)
    members, flaws = [], []
    for record in request.records:
        start = record.offset - request.start
        member = content[start : start + record.length]
        flaw = find_flaw(member, record.url)
        if flaw:
            flaws.append(flaw)
        else:
            members.append(member)
    folder.add(request.name, members, flaws)
