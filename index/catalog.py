"""The catalog: what the crawl holds, in one DuckDB file. The truth that everything served is built from.

One source file is one transaction: after a kill, a source is in whole or not at all.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import duckdb
import pyarrow as pa

from webemu.emulator.errors import CatalogError
from webemu.index.schema import MARKER, SCHEMA_VERSION, TABLES
from webemu.index.signals.hosts import RANKS
from webemu.index.space import no_space, shortage

FILE = "catalog.duckdb"
READING, WRITING = "1GB", "512MB"
"""DuckDB's share of a process; beyond it, it works on disk. Without a bound it takes four fifths of the machine's."""

_TYPES = {
    pa.int64(): "BIGINT",
    pa.int32(): "INTEGER",
    pa.int16(): "SMALLINT",
    pa.float32(): "FLOAT",
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.string(): "VARCHAR",
    pa.large_string(): "VARCHAR",
    pa.binary(): "BLOB",
}

_VIEWS = """
CREATE VIEW IF NOT EXISTS hosts AS
  SELECT url_host_name, url_host_registered_domain, count(*) AS captures,
         count(*) FILTER (fetch_status = 200) AS ok, min(fetch_time) AS first_seen, max(fetch_time) AS last_seen
  FROM captures GROUP BY ALL ORDER BY captures DESC, url_host_name;
CREATE VIEW IF NOT EXISTS drop_reasons AS
  SELECT reason, sum(records)::BIGINT AS records, sum(bytes)::BIGINT AS bytes, count(*) AS sources
  FROM drops GROUP BY reason ORDER BY records DESC, reason;
"""


class Catalog:
    """The open catalog of a collection. Writing takes the file for itself; reading can be shared."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.folder = folder
        path = folder / FILE
        if read_only and not path.exists():
            raise CatalogError(
                f"no collection at {folder}", action="create it with `webemu ingest SOURCE... --collection NAME`"
            )
        folder.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        try:
            self.db = duckdb.connect(str(path), read_only=read_only)
            self.db.execute(f"SET memory_limit = '{READING if read_only else WRITING}'")
        except duckdb.IOException as error:
            if meaning := shortage(str(error)):
                if is_new:
                    path.unlink(missing_ok=True)  # without all of its head DuckDB would never open it
                raise no_space(folder, meaning) from error
            raise CatalogError(
                f"{path} cannot be opened: {str(error).splitlines()[0]}",
                action="an ingest or another writer may hold it; wait until it ends, then try again",
            ) from error
        if not read_only:
            self._create()
        self._check_version()

    def _create(self) -> None:
        self.db.execute("CREATE TABLE IF NOT EXISTS meta (key VARCHAR PRIMARY KEY, value VARCHAR)")
        self.db.execute("INSERT OR IGNORE INTO meta VALUES ('schema_version', ?)", [str(SCHEMA_VERSION)])
        for name, schema in TABLES.items():
            columns = ", ".join(f'"{field.name}" {_TYPES[field.type]}' for field in schema)
            self.db.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
        self.db.execute(RANKS)
        self.db.execute(_VIEWS)

    def _check_version(self) -> None:
        row = self.db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        if row is None or row[0] != str(SCHEMA_VERSION):
            raise CatalogError(
                f"{self.folder / FILE} has schema {row and row[0]}, this version reads {SCHEMA_VERSION}",
                action="ingest the sources into a new collection",
            )

    def known(self) -> set[int]:
        """Ids of the sources already in."""
        return {row[0] for row in self.db.execute("SELECT source_id FROM sources").fetchall()}

    def moved(self, source: int, path: Path) -> None:
        """A known source was met at this path: read it there from now on if it is no more where it was."""
        row = self.db.execute("SELECT path FROM sources WHERE source_id = ? AND copy IS NULL", [source]).fetchone()
        if row and not Path(row[0]).exists():
            self.db.execute("UPDATE sources SET path = ? WHERE source_id = ?", [str(path), source])

    def add(self, staging: Path) -> None:
        """Import one worker's staging folder in a single transaction, then remove it. Known sources change nothing."""
        if not (staging / MARKER).exists():
            raise CatalogError(f"{staging} is not complete", action="remove it and ingest the source again")
        source_id = int(staging.name)
        self.db.execute("BEGIN TRANSACTION")
        try:
            if source_id not in self.known():
                for name in TABLES:
                    path = str(staging / f"{name}*.parquet").replace("'", "''")
                    self.db.execute(f"INSERT INTO {name} SELECT * FROM read_parquet('{path}')")
            self.db.execute("COMMIT")
        except BaseException:
            with suppress(Exception):  # the error that is on its way tells more
                self.db.execute("ROLLBACK")
            raise
        shutil.rmtree(staging)

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
