"""Storage, lookup and search of captured pages: catalog (DuckDB), URL lookup (LMDB) and text index (Tantivy).

Everything that is served comes from immutable snapshots, which are opened read-only.
"""
