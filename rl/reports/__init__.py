"""Scoring of reports: claims and citations of the text, support by the passages of cited pages, coverage and precision.

Read `scoring.py` first. Everything is rules over words; `webemu.rl.judge` compares meaning.
"""
