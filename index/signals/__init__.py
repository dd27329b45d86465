"""Query-independent ranking features and duplicate detection, computed at build time. See docs/signals.md."""
