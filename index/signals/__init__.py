"""What ranking knows of a page beside its words. See docs/signals.md."""
