"""Hands a collection on, or a part of it: as WARC or WACZ, pages in Parquet or JSON lines, BEIR, passages."""
