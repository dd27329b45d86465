"""`webemu pick`: fetch chosen records of a crawl from afar instead of whole WARC files."""
