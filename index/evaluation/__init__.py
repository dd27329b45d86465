"""How well pages are found: queries with known right pages, asked of a snapshot, scored and compared."""
