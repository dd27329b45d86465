"""`webemu plan`: predicts what a crawl costs to ingest, keep and serve, from measurements of smaller ones."""
