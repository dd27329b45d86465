"""URL quality in [0, 1]: people link to short, shallow URLs without numbers and parameters.

    exp(-(0.15 x folders and file + 0.5 x min(1, characters / 200) + share of digits + 0.25 if there is a query))

over path and query with percent-escapes decoded and without an index file's name; so 1 for a homepage. Kraaij,
Westerveld and Hiemstra ("The importance of prior probabilities for entry page search", SIGIR 2002) found these parts
predictive; their sizes are chosen, not fitted.
"""

from __future__ import annotations

ADDRESS = r"""
CREATE OR REPLACE TEMP MACRO address_part(path, query) AS
  regexp_replace(coalesce(try(url_decode(path)), path, ''), '/(index|default)\.\w{2,5}$', '/')
  || coalesce('?' || coalesce(try(url_decode(query)), query), '');
CREATE OR REPLACE TEMP MACRO address_of(part, queried) AS round(exp(-(
  0.15 * len(list_filter(string_split(split_part(part, '?', 1), '/'), lambda x: x <> ''))
  + 0.5 * least(1, greatest(0, length(part) - 1) / 200)
  + length(regexp_replace(part, '\PN', '', 'g')) / greatest(1, length(part))
  + CASE WHEN queried THEN 0.25 ELSE 0 END)), 4)::FLOAT;
CREATE OR REPLACE TEMP MACRO address(path, query) AS address_of(address_part(path, query), query IS NOT NULL);
"""
"""SQL that defines the macro `address(url_path, url_query)`."""
