"""How well linked a host is, in [0, 1]: its place in Common Crawl's host ranks, else in the crawl's own host graph.

    given ranks    1 - ln(position) / ln(1 + positions)     0 for a host that is not among them
    own graph      ln(1 + H) / ln(hosts)                H: harmonic centrality, the sum of 1 / distance to it

Harmonic centrality (Boldi and Vigna, "Axioms for centrality", 2014) is what Common Crawl ranks by; it is harder to
inflate than PageRank. Links between hosts of one registrable domain do not count; `www.` is no part of a name.
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

WORK = 50_000_000
"""Steps along links that are walked at most. A larger graph is walked from a sample of its hosts."""
RANKS = "CREATE TABLE IF NOT EXISTS host_ranks (host VARCHAR, harmonic_pos BIGINT, harmonic_value DOUBLE, hosts BIGINT)"
"""Of the hosts of the crawl, as published: the position, its value, and how many positions there are."""

_NAMES = {
    "position": ("harmonicc_pos", "hc_pos"),
    "value": ("harmonicc_val", "hc_val"),
    "name": ("host_rev",),
}
"""Columns of a ranks file by what they hold; releases differ."""
NAME = r"regexp_replace(url_host_name, '^www\.', '')"
"""A host's name without `www.`, of a row of `captures`."""
_READ = f"""
WITH wanted AS (SELECT DISTINCT {NAME} AS host, array_to_string(list_reverse(string_split({{key}}, '.')), '.') AS name
                FROM captures WHERE url_host_name <> ''),
     ranked AS (SELECT host, min(try_cast({{position}} AS BIGINT)) AS first,
                       max(try_cast({{position}} AS BIGINT)) AS last, max(try_cast({{value}} AS DOUBLE)) AS value
                FROM read_csv(?, delim = '\t', header = false, skip = 1, auto_detect = false, columns = {{columns}},
                              quote = '', escape = '', ignore_errors = true)
                LEFT JOIN wanted ON wanted.name = {{name}} GROUP BY host)
SELECT host, first, value, (SELECT max(last) FROM ranked) AS hosts FROM ranked WHERE host IS NOT NULL AND first > 0
"""


def read_ranks(db: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Keep of a ranks file (tab-separated, gzip or plain; of hosts or of domains) the hosts that the crawl has.

    Replaces those of another file, unless it has none of them; returns how many it has. Raises SourceError where it is
    no such file.
    """
    header, columns = ranks_columns(path)
    key = "url_host_registered_domain" if any(name.startswith("n_host") for name in header) else NAME
    types = dict.fromkeys(header, "VARCHAR")
    reading = _READ.format(key=key, columns=types, **columns)
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


def ranks_columns(path: Path) -> tuple[list[str], dict[str, str]]:
    """All columns of a ranks file, and those that are read. Raises SourceError where it is no such file."""
    header = _header(path)
    columns = {field: next((name for name in names if name in header), "") for field, names in _NAMES.items()}
    if not all(columns.values()):
        raise SourceError(
            f"{path} is no ranks file: its first line is {' '.join(header)[:80]!r}",
            action="give cc-main-...-host-ranks.txt.gz or -domain-ranks.txt.gz of Common Crawl's web graphs",
        )
    return header, columns


def _header(path: Path) -> list[str]:
    """Names of the columns."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", errors="replace") as file:
            first = file.readline(4096)
    except (OSError, EOFError) as error:
        raise SourceError(f"{path} cannot be read: {error}", action="download it again") from error
    return [name.strip().lstrip("#") for name in first.rstrip("\n").split("\t")]


def ranks_hash(db: duckdb.DuckDBPyConnection) -> str:
    """Of the ranks that were given, empty if none were: part of a snapshot's name."""
    row = db.execute(
        "SELECT md5(string_agg(concat_ws(' ', host, harmonic_pos, hosts), ',' ORDER BY host)) FROM host_ranks"
    )
    return (row.fetchone() or ("",))[0] or ""


_OF_RANKS = """
INSERT INTO host_prior
SELECT host, round(greatest(0, 1 - ln(harmonic_pos) / ln(1 + hosts)), 4) FROM host_ranks
"""


def write_priors(db: duckdb.DuckDBPyConnection) -> None:
    """Fill the temporary table host_prior(name, host)."""
    db.execute("CREATE OR REPLACE TEMP TABLE host_prior (name VARCHAR, host FLOAT)")
    if db.execute("SELECT 1 FROM host_ranks LIMIT 1").fetchone():
        db.execute(_OF_RANKS)
        return
    names, links = _graph(db)
    db.register("found", pa.table({"name": names, "host": scaled(centralities(names, links))}))
    db.execute("INSERT INTO host_prior SELECT * FROM found")
    db.unregister("found")


_HOSTS = f"SELECT DISTINCT {NAME} AS host FROM captures WHERE url_host_name <> '' ORDER BY host"
_LINKS = f"""
WITH named AS (SELECT {NAME} AS host, min(url_host_registered_domain) AS domain FROM captures
               WHERE url_host_name <> '' GROUP BY host),
     placed AS (SELECT host, domain, row_number() OVER (ORDER BY host) - 1 AS number FROM named),
     found AS (SELECT DISTINCT {NAME} AS host,
                      regexp_replace(split_part(split_part(target, '/', 3), ':', 1), '^www\\.', '') AS target
               FROM links JOIN captures USING (source_id, warc_record_offset))
SELECT a.number, b.number FROM found f JOIN placed a ON a.host = f.host JOIN placed b ON b.host = f.target
WHERE a.domain <> b.domain ORDER BY ALL
"""


def _graph(db: duckdb.DuckDBPyConnection) -> tuple[list[str], list[tuple[int, int]]]:
    """Hosts in order of their names, and which of them link to which, by number."""
    return [name for (name,) in db.execute(_HOSTS).fetchall()], db.execute(_LINKS).fetchall()


def centralities(names: Sequence[str], links: Sequence[tuple[int, int]]) -> list[float]:
    """Harmonic centrality of each host: exact where the graph is small.

    Else links count as they are, and longer ways are estimated from a sample of hosts, drawn by hashes of their names
    (Eppstein and Wang, "Fast approximation of centrality", 2001).
    """
    import rustworkx  # with numpy: for building only, never for serving

    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(len(names)))
    graph.extend_from_edge_list(links)
    sample = max(1, min(len(names), WORK // max(1, len(names) + len(links))))
    mixed = sorted(range(len(names)), key=lambda number: md5(names[number].encode("utf-8", "replace")).digest())
    found = [0.0] * len(names)
    for start in sorted(mixed[:sample]):
        for distance, layer in enumerate(rustworkx.bfs_layers(graph, [start])[2:], 2):
            for number in layer:
                found[number] += len(names) / sample / distance
    for _, target in links:
        found[target] += 1.0
    return found


def scaled(found: list[float]) -> list[float]:
    """In [0, 1]: 1 would be a host that every other one links to."""
    most = log(max(2, len(found)))
    return [round(min(1.0, log(1 + one) / most), 4) for one in found]
