"""The emulated web: value types, errors, settings, URL canonicalisation, query language, and the `World`."""
