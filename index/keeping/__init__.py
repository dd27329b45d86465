"""Keeps collections over years: collects old snapshots, moves and merges collections, owns their payloads."""
