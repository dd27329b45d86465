"""A guest who believes the web is real: search, open and find over HTTP, and an agent loop."""
