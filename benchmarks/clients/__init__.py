"""Runs the programs of `examples/clients`: published clients and frameworks, unmodified, against a served web."""
