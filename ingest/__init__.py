"""Ingest turns crawls (WARC, ARC, WACZ and dumps of texts) into captures, pages and links, and counts every drop."""
