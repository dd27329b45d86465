"""Every container format that is ingested, each as one frozen value.

`FORMATS` lists them; nothing else has to be registered to read a new one. `webemu.ingest.formats.format` defines the
type, and `webemu.ingest.formats.detection` finds the format of a file.
"""

from webemu.ingest.formats.arc import ARC, ARC_GZ
from webemu.ingest.formats.dumps import JSONL, JSONL_GZ, JSONL_ZST, PARQUET
from webemu.ingest.formats.format import Format
from webemu.ingest.formats.har import HAR, HAR_GZ
from webemu.ingest.formats.recordings import CASSETTE, SERVICE_LOG, SERVICE_LOG_GZ, SERVICE_LOG_ZST
from webemu.ingest.formats.wacz import WACZ
from webemu.ingest.formats.warc import WARC, WARC_GZ, WARC_GZ_ONE_MEMBER, WARC_LZ4, WARC_ZST

FORMATS: tuple[Format, ...] = (
    PARQUET,
    WACZ,
    WARC,
    WARC_GZ,
    WARC_GZ_ONE_MEMBER,
    WARC_ZST,
    WARC_LZ4,
    ARC,
    ARC_GZ,
    HAR,
    HAR_GZ,
    CASSETTE,
    SERVICE_LOG,
    SERVICE_LOG_GZ,
    SERVICE_LOG_ZST,
    JSONL,
    JSONL_GZ,
    JSONL_ZST,
)
"""All formats, in the order in which a file is compared with them."""
TITLES = tuple(sorted({container_format.title for container_format in FORMATS}))
"""Titles of all formats, each once."""
