"""Link centrality of hosts, in [0, 1]: from Common Crawl's host ranks if imported, else from the crawl's own host
graph.

    given ranks    1 - ln(position) / ln(1 + positions)     0 for a host that is not among them
    own graph      ln(1 + H) / ln(hosts)                H: harmonic centrality, the sum of 1 / distance to it

Common Crawl ranks by harmonic centrality (Boldi and Vigna, "Axioms for centrality", 2014); it is harder to inflate
than PageRank. Links between hosts of one registrable domain do not count; a leading `www.` is ignored.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from hashlib import md5
from math import log
from pathlib import Path

import duckdb
import pyarrow as pa

from webemu.emulator.errors import SourceError
from webemu.index.arrow_arrays import float_array, text_array

MAX_REACHED = 2**29
"""Pairs of hosts, one of which is reached from the other, that are held in memory at most, a bit for each: of more than
23,170 hosts, paths start at a sample.
"""
RANKS = "CREATE TABLE IF NOT EXISTS host_ranks (host VARCHAR, harmonic_pos BIGINT, harmonic_value DOUBLE, hosts BIGINT)"
"""Table of imported ranks for the hosts of the crawl: position, value, and number of positions in the file."""

_NAMES = {
    "position": ("harmonicc_pos", "hc_pos"),
    "value": ("harmonicc_val", "hc_val"),
    "name": ("host_rev",),
}
"""Names of the columns of a ranks file; releases differ."""
HOST_NAME_SQL = r"regexp_replace(url_host_name, '^www\.', '')"
"""SQL expression of a host's name without `www.`, for a row of `captures`."""
_READ_RANKS = f"""
WITH wanted AS (SELECT DISTINCT {HOST_NAME_SQL} AS host,
                       array_to_string(list_reverse(string_split({{key}}, '.')), '.') AS name
                FROM captures WHERE url_host_name <> ''),
     ranked AS (SELECT host, min(try_cast({{position}} AS BIGINT)) AS first,
                       max(try_cast({{position}} AS BIGINT)) AS last, max(try_cast({{value}} AS DOUBLE)) AS value
                FROM read_csv(?, delim = '\t', header = false, skip = 1, auto_detect = false, columns = {{columns}},
                              quote = '', escape = '', ignore_errors = true)
                LEFT JOIN wanted ON wanted.name = {{name}} GROUP BY host)
SELECT host, first, value, (SELECT max(last) FROM ranked) AS hosts FROM ranked WHERE host IS NOT NULL AND first > 0
"""


def import_ranks(db: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Import from a ranks file the hosts that the crawl has; return how many.

    The file is tab-separated, gzip or plain, of hosts or of domains. Its ranks replace those of an earlier file,
    unless none of its hosts is in the crawl. Raises SourceError if it is no ranks file.
    """
    header, columns = read_ranks_columns(path)
    key = "url_host_registered_domain" if any(name.startswith("n_host") for name in header) else HOST_NAME_SQL
    types = dict.fromkeys(header, "VARCHAR")  # numbers are cast one by one, so that a bad line is skipped
    reading = _READ_RANKS.format(key=key, columns=types, **columns)
    try:
        db.execute(f"CREATE OR REPLACE TEMP TABLE ranks_read AS {reading}", [str(path)])
    except duckdb.Error as error:
        raise SourceError(f"{path} cannot be read: {error}", action="download it again") from error
    if not db.execute("SELECT 1 FROM ranks_read LIMIT 1").fetchone():
        return 0
    db.execute("BEGIN TRANSACTION")
    db.execute("DELETE FROM host_ranks")
    db.execute("INSERT INTO host_ranks SELECT * FROM ranks_read ORDER BY ALL")
    db.execute("COMMIT")
    row = db.execute("SELECT count(*) FROM host_ranks").fetchone()
    return int(row[0]) if row else 0


def read_ranks_columns(path: Path) -> tuple[list[str], dict[str, str]]:
    """Return all columns of a ranks file, and the names of those that are read. Raises SourceError if it is none."""
    header = _read_header(path)
    columns = {field: next((name for name in names if name in header), "") for field, names in _NAMES.items()}
    if not all(columns.values()):
        raise SourceError(
            f"{path} is not a ranks file: its first line is {' '.join(header)[:80]!r}",
            action="give cc-main-...-host-ranks.txt.gz or -domain-ranks.txt.gz of Common Crawl's web graphs",
        )
    return header, columns


def _read_header(path: Path) -> list[str]:
    """Return the column names in the first line."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", errors="replace") as file:
            first = file.readline(4096)
    except (OSError, EOFError) as error:
        raise SourceError(f"{path} cannot be read: {error}", action="download it again") from error
    return [name.strip().lstrip("#") for name in first.rstrip("\n").split("\t")]


def hash_ranks(db: duckdb.DuckDBPyConnection) -> str:
    """Return a hash of the imported ranks, which is part of a snapshot's id; empty if none were imported."""
    row = db.execute(
        "SELECT md5(string_agg(concat_ws(' ', host, harmonic_pos, hosts), ',' ORDER BY host)) FROM host_ranks"
    )
    return (row.fetchone() or ("",))[0] or ""


_PRIORS_FROM_RANKS = """
INSERT INTO host_prior
SELECT host, round(greatest(0, 1 - ln(harmonic_pos) / ln(1 + hosts)), 4) FROM host_ranks
"""


def write_priors(db: duckdb.DuckDBPyConnection) -> None:
    """Fill the temporary table host_prior(name, host). Without imported ranks the links of all sources must be listed
    (`webemu.index.signals.linked_hosts`).
    """
    db.execute("CREATE OR REPLACE TEMP TABLE host_prior (name VARCHAR, host FLOAT)")
    if db.execute("SELECT 1 FROM host_ranks LIMIT 1").fetchone():
        db.execute(_PRIORS_FROM_RANKS)
        return
    names, links = read_graph(db)
    priors = normalize_centrality(compute_centralities(names, links))
    db.register("priors_read", pa.table({"name": text_array(names), "host": float_array(priors)}))
    db.execute("INSERT INTO host_prior SELECT * FROM priors_read")
    db.unregister("priors_read")


_HOSTS = f"SELECT DISTINCT {HOST_NAME_SQL} AS host FROM captures WHERE url_host_name <> '' ORDER BY host"
_LINKS = f"""
WITH named AS (SELECT {HOST_NAME_SQL} AS host, min(url_host_registered_domain) AS domain FROM captures
               WHERE url_host_name <> '' GROUP BY host),
     placed AS (SELECT host, domain, row_number() OVER (ORDER BY host) - 1 AS number FROM named),
     linked AS (SELECT DISTINCT host AS url_host_name, target FROM linked_hosts WHERE host IS NOT NULL),
     found AS (SELECT DISTINCT {HOST_NAME_SQL} AS host,
                      regexp_replace(split_part(target, ':', 1), '^www\\.', '') AS target FROM linked)
SELECT a.number, b.number FROM found f JOIN placed a ON a.host = f.host JOIN placed b ON b.host = f.target
WHERE a.domain <> b.domain ORDER BY ALL
"""


def read_graph(db: duckdb.DuckDBPyConnection) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the hosts in alphabetical order, and the links between them by number.

    The links of all sources must be listed (`webemu.index.signals.linked_hosts`).
    """
    return [name for (name,) in db.execute(_HOSTS).fetchall()], db.execute(_LINKS).fetchall()


def compute_centralities(names: Sequence[str], links: Sequence[tuple[int, int]]) -> list[float]:
    """Return the harmonic centrality of each host, exact if there are few.

    Of many, direct links count exactly, and longer paths are estimated from a sample of hosts, chosen by hashes of
    their names (Eppstein and Wang, "Fast approximation of centrality", 2001). The paths of all of them are followed at
    once: a number stands for each set of hosts, with one bit for each (Then et al., "The more the merrier: efficient
    multi-source graph traversal", VLDB 2014).
    """
    targets: list[list[int]] = [[] for _ in names]
    for source, target in links:
        targets[source].append(target)
    sample = max(1, min(len(names), MAX_REACHED // max(1, len(names))))
    shuffled_hosts = sorted(
        range(len(names)), key=lambda number: md5(names[number].encode("utf-8", "replace")).digest()
    )
    reached = [0] * len(names)
    frontier = {start: 1 << bit for bit, start in enumerate(shuffled_hosts[:sample])}
    for start, bits in frontier.items():
        reached[start] = bits
    harmonic = [0.0] * len(names)
    distance = 0
    while frontier:
        distance += 1
        arriving: dict[int, int] = {}
        for host, bits in frontier.items():
            for target in targets[host]:
                arriving[target] = arriving.get(target, 0) | bits
        frontier = {}
        for host, bits in arriving.items():
            if new := bits & ~reached[host]:
                reached[host] |= new
                frontier[host] = new
                if distance > 1:  # direct links are counted below
                    harmonic[host] += new.bit_count() * len(names) / sample / distance
    for _, target in links:
        harmonic[target] += 1.0
    return harmonic


def normalize_centrality(harmonic: list[float]) -> list[float]:
    """Return centralities on a logarithmic scale in [0, 1]; a host that every other one links to has 1."""
    max_log = log(max(2, len(harmonic)))
    return [round(min(1.0, log(1 + value) / max_log), 4) for value in harmonic]
