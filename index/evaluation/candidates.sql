-- Candidates of known-item queries in the order in which they are tried: one per site in turn, by a hash of the seed.
-- Needs the macro held_out(url), the variable seed and the table told: texts of links that are not held out, per page.
CREATE TEMP TABLE live AS
SELECT p.source_id, p.warc_record_offset, p.url, p.title, p.text_hash, p.words,
       coalesce(c.url_host_registered_domain, c.url_host_name, '') AS site
FROM pages p JOIN captures c USING (source_id, warc_record_offset)
WHERE p.searchable
QUALIFY lead(p.url) OVER (PARTITION BY p.url
  ORDER BY c.fetch_time, c.warc_record_type = 'response', p.source_id, p.warc_record_offset) IS NULL;

-- One page per distinct text.
CREATE TEMP TABLE pages_in_turn AS
SELECT *, row_number() OVER (ORDER BY nth, dice, url) AS turn FROM (
  SELECT *, row_number() OVER (PARTITION BY site ORDER BY dice, url) AS nth FROM (
    SELECT *, md5(getvariable('seed') || ' page ' || url) AS dice,
           count(DISTINCT text_hash) OVER (PARTITION BY title) AS titled
    FROM live)
  QUALIFY row_number() OVER (PARTITION BY text_hash ORDER BY url) = 1);

-- Texts of links on held-out pages that lead to one text only; `unheard` if no other page uses them. One per text.
CREATE TEMP TABLE anchors_in_turn AS
WITH said AS (
  SELECT lower(l.anchor) AS said, min(l.anchor) AS anchor, t.url, t.site, t.text_hash,
         min(c.url) FILTER (held_out(c.url)) AS source, bool_and(held_out(c.url)) AS held,
         md5(getvariable('seed') || ' anchor ' || said || ' ' || t.url) AS dice
  FROM links l JOIN captures c USING (source_id, warc_record_offset) JOIN live t ON t.url = l.target
  WHERE strlen(l.anchor) BETWEEN 8 AND 200 AND c.url <> l.target
    AND NOT regexp_matches(coalesce(l.rel, ''), '\b(next|prev|previous|up|first|last|start)\b', 'i')
  GROUP BY lower(l.anchor), t.url, t.site, t.text_hash),
telling AS (
  SELECT said.*, bool_and(held AND NOT EXISTS (
           SELECT 1 FROM told JOIN live USING (source_id, warc_record_offset)
           WHERE live.url = said.url AND lower(told.text) = said.said)) OVER (PARTITION BY said) AS unheard
  FROM said
  QUALIFY count(DISTINCT text_hash) OVER (PARTITION BY said) = 1),
one_each AS (
  SELECT *, row_number() OVER (PARTITION BY unheard, site ORDER BY dice) AS nth FROM (
    SELECT * FROM telling WHERE source IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY unheard, text_hash ORDER BY dice) = 1))
SELECT *, row_number() OVER (PARTITION BY unheard ORDER BY nth, dice) AS turn FROM one_each;
