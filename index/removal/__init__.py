"""Takes captures out of a collection for good: rules, their effect on the catalog, snapshots and copies of payloads."""
