"""Where pages rest (DuckDB), are looked up (LMDB) and are found (Tantivy): immutable snapshots, opened read-only."""
