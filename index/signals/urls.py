"""URL quality in [0, 1]: people link to short, shallow URLs without numbers and parameters.

    exp(-(0.15 x folders and file + 0.5 x min(1, characters / 200) + share of digits + 0.25 if there is a query))

over path and query with percent-escapes decoded and without an index file's name; so 1 for a homepage. Kraaij,
Westerveld and Hiemstra ("The importance of prior probabilities for entry page search", SIGIR 2002) found these parts
predictive; their sizes are chosen, not fitted.
"""

from __future__ import annotations

# Most addresses have no escapes, empty folders or digits beyond ASCII, and are read in a third of the time.
ADDRESS = r"""
CREATE OR REPLACE TEMP MACRO address_decoded(text) AS
  CASE WHEN contains(text, '%') THEN coalesce(try(url_decode(text)), text) ELSE text END;
CREATE OR REPLACE TEMP MACRO address_named(path) AS
  CASE WHEN contains(path, '/index.') OR contains(path, '/default.')
       THEN regexp_replace(path, '/(index|default)\.\w{2,5}$', '/') ELSE path END;
CREATE OR REPLACE TEMP MACRO address_part(path, query) AS
  address_named(coalesce(address_decoded(path), '')) || coalesce('?' || address_decoded(query), '');
CREATE OR REPLACE TEMP MACRO address_depth(path) AS
  CASE WHEN contains(path, '//') THEN len(list_filter(string_split(path, '/'), lambda x: x <> ''))
       WHEN path = '' THEN 0
       ELSE 1 + length(path) - length(replace(path, '/', '')) - starts_with(path, '/')::INT - ends_with(path, '/')::INT
  END;
CREATE OR REPLACE TEMP MACRO address_digits(part) AS
  CASE WHEN strlen(part) = length(part) THEN length(part) - length(translate(part, '0123456789', ''))
       ELSE length(regexp_replace(part, '\PN', '', 'g')) END;
CREATE OR REPLACE TEMP MACRO address_of(part, queried) AS round(exp(-(
  0.15 * address_depth(split_part(part, '?', 1))
  + 0.5 * least(1, greatest(0, length(part) - 1) / 200)
  + address_digits(part) / greatest(1, length(part))
  + CASE WHEN queried THEN 0.25 ELSE 0 END)), 4)::FLOAT;
CREATE OR REPLACE TEMP MACRO address(path, query) AS address_of(address_part(path, query), query IS NOT NULL);
"""
"""SQL that defines the macro `address(url_path, url_query)`."""
