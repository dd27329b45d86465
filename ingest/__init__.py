"""How a crawl becomes pages: WARC and other dumps in, captures and pages out, every drop counted."""
