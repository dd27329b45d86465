"""Text quality in [0, 1]: halved by every rule that a text breaks. A feature for weights and filters, not a drop
reason.

The rules are those of Gopher (Rae et al. 2021, "Scaling Language Models", table A1) on the columns that
`webemu.ingest.measures` fills: at least 50 words, of 3 to 10 characters on average, 80% of them with a letter; at most
one symbol in 10 words; at most 90% of lines with a bullet, 30% that end in an ellipsis, 30% repeated; two common
English words in an English text. Rules about words do not apply to scripts without spaces.
"""

from __future__ import annotations

QUALITY = """
CREATE OR REPLACE TEMP MACRO quality(p) AS (0.5 ** (
  (p.words < 50)::INT
  + coalesce((p.word_length NOT BETWEEN 3 AND 10)::INT, 0)
  + coalesce((p.alphabetic < 0.8)::INT, 0)
  + (p.symbols > 0.1)::INT
  + (p.bullets > 0.9)::INT
  + (p.ellipses > 0.3)::INT
  + (p.repeated > 0.3)::INT
  + coalesce((p.language = 'en' AND p.stop_words < 2)::INT, 0)))::FLOAT;
"""
"""SQL that defines the macro `quality(p)` of a row of `pages`."""
