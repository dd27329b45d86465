"""The catalog: one DuckDB file with everything the crawl holds. All that is served is built from it.

One source file is one transaction: after a crash, a source is in it completely or not at all.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import duckdb
import pyarrow as pa

from webemu.emulator.errors import CatalogError
from webemu.index.query_rows import quote_path
from webemu.index.schema import MARKER, SCHEMA_VERSION, TABLES
from webemu.index.signals.hosts import RANKS
from webemu.index.space import describe_shortage, no_space_error

FILE = "catalog.duckdb"
"""Name of the catalog in a collection folder."""
READER_MEMORY, WRITER_MEMORY = "1GB", "512MB"
"""DuckDB's memory limit in readers and writers; beyond it, it works on disk. Its default is 80% of the machine."""
BUILD_BYTES_PER_CAPTURE = 100
"""Memory of the reader that builds a snapshot, for each capture, where that is more than `READER_MEMORY`."""

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
    """The open catalog of a collection. A writer has the file to itself; readers can share it. A context manager.

    with Catalog(folder, read_only=True) as catalog:
        rows = catalog.db.execute("SELECT url FROM pages").fetchall()
    """

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        """Open the catalog, and create it unless `read_only`.

        Raises CatalogError if it is missing, locked by another process, or of another schema version.
        """
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
            self.db.execute(f"SET memory_limit = '{READER_MEMORY if read_only else WRITER_MEMORY}'")
        except duckdb.IOException as error:
            if meaning := describe_shortage(str(error)):
                if is_new:
                    path.unlink(missing_ok=True)  # DuckDB would never open a file with half a header
                raise no_space_error(folder, meaning) from error
            raise CatalogError(
                f"{path} cannot be opened: {str(error).splitlines()[0]}",
                action="another process, such as `webemu ingest`, may have it open; wait until it ends, then try again",
            ) from error
        if read_only:
            self._add_missing_tables()
        else:
            self._create_tables()
        self._check_version()

    def _create_tables(self) -> None:
        self.db.execute("CREATE TABLE IF NOT EXISTS meta (key VARCHAR PRIMARY KEY, value VARCHAR)")
        self.db.execute("INSERT OR IGNORE INTO meta VALUES ('schema_version', ?)", [str(SCHEMA_VERSION)])
        for name, schema in TABLES.items():
            self.db.execute(f"CREATE TABLE IF NOT EXISTS {name} ({_column_definitions(schema)})")
        self.db.execute(RANKS)
        self.db.execute(_VIEWS)

    def _add_missing_tables(self) -> None:
        """Let a catalog that an older version wrote have an empty table for each that was added since."""
        present = list_tables(self.db)
        for name, schema in TABLES.items():
            if present and name not in present:
                self.db.execute(f"CREATE TEMP TABLE {name} ({_column_definitions(schema)})")

    def _check_version(self) -> None:
        row = self.db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        if row is None or row[0] != str(SCHEMA_VERSION):
            raise CatalogError(
                f"{self.folder / FILE} has schema version {row and row[0]}, this webemu reads {SCHEMA_VERSION}",
                action="ingest the sources into a new collection",
            )

    def raise_memory_limit(self) -> None:
        """Let statements over the whole catalog take more memory if it has over ten million captures: DuckDB cannot
        spill all of theirs to disk.
        """
        [(captures,)] = self.db.execute("SELECT coalesce(sum(captures), 0)::BIGINT FROM sources").fetchall()
        if captures * BUILD_BYTES_PER_CAPTURE > 10**9:
            self.db.execute(f"SET memory_limit = '{captures * BUILD_BYTES_PER_CAPTURE // 10**6}MB'")

    def source_ids(self) -> set[int]:
        """Return the ids of the sources that are ingested."""
        return {row[0] for row in self.db.execute("SELECT source_id FROM sources").fetchall()}

    def update_path(self, source: int, path: Path) -> None:
        """Set the path of an ingested source to the one where it was met again, if its old path is gone."""
        row = self.db.execute("SELECT path FROM sources WHERE source_id = ? AND copy IS NULL", [source]).fetchone()
        if row and not (self.folder / row[0]).exists():
            self.db.execute("UPDATE sources SET path = ? WHERE source_id = ?", [str(path), source])

    def import_staging(self, staging: Path, *, replace: bool = False) -> None:
        """Import one worker's staging folder in a single transaction, then delete it.

        Does nothing for a known source, unless `replace`: then its rows take the place of those it had.

        Raises CatalogError if the folder is incomplete.
        """
        if not (staging / MARKER).exists():
            raise CatalogError(
                f"the staging folder {staging} is incomplete: it has no {MARKER}",
                action="remove it and ingest the source again",
            )
        source_id = int(staging.name)
        self.db.execute("BEGIN TRANSACTION")
        try:
            own_paths = self._delete_source(source_id) if replace and source_id in self.source_ids() else []
            # A worker may have staged a source again that another run had already added.
            if source_id not in self.source_ids():
                for name in TABLES:
                    path = quote_path(staging / f"{name}*.parquet")
                    self.db.execute(f"INSERT INTO {name} SELECT * FROM read_parquet('{path}')")
            for own_path in own_paths:
                self.db.execute("UPDATE sources SET path = ? WHERE source_id = ?", [own_path, source_id])
            self.db.execute("COMMIT")
        except BaseException:
            with suppress(Exception):  # the error that is being raised says more than a failed rollback
                self.db.execute("ROLLBACK")
            raise
        shutil.rmtree(staging)

    def _delete_source(self, source: int) -> list[str]:
        """Delete all rows of a source; return its path if that is inside the collection."""
        row = self.db.execute("SELECT path FROM sources WHERE source_id = ?", [source]).fetchone()
        for name in TABLES:
            self.db.execute(f"DELETE FROM {name} WHERE source_id = ?", [source])
        return [row[0]] if row and not Path(row[0]).is_absolute() else []

    def close(self) -> None:
        """Close the database file."""
        self.db.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def list_tables(db: duckdb.DuckDBPyConnection, database: str = "") -> set[str]:
    """Return the names of the tables in an attached database, by default in the current one."""
    query = "SELECT table_name FROM duckdb_tables() WHERE database_name = coalesce(?, current_database())"
    return {name for (name,) in db.execute(query, [database or None]).fetchall()}


def _column_definitions(schema: pa.Schema) -> str:
    """Return the columns of a table in SQL."""
    return ", ".join(f'"{field.name}" {_TYPES[field.type]}' for field in schema)


def compact_catalog(folder: Path) -> None:
    """Write the catalog of a collection anew: DuckDB keeps deleted rows in free blocks of its file."""
    path, temporary = folder / FILE, folder / f".{FILE}.{os.getpid()}"
    temporary.unlink(missing_ok=True)
    with Catalog(folder) as catalog:  # a writer: it takes in the log of an interrupted one
        catalog.db.execute("CHECKPOINT")
    with duckdb.connect() as db:
        db.execute(f"SET memory_limit = '{WRITER_MEMORY}'")
        db.execute(f"ATTACH '{quote_path(path)}' AS whole (READ_ONLY)")
        db.execute(f"ATTACH '{quote_path(temporary)}' AS fresh")
        db.execute("COPY FROM DATABASE whole TO fresh")
        db.execute("CHECKPOINT fresh")
        db.execute("DETACH fresh")
    temporary.replace(path)
