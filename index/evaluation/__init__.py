"""Search evaluation: queries with known answers are run against a snapshot, scored and compared."""
