-- Resolves captures as they are served: numbers pages densely over the shards, and points revisits at the payload that
-- they repeat. Needs the temporary table shard_of(source_id, first, last, shard, base), and two macros: is_inside(url) is
-- true if a URL is in the partition that is built, is_touched(surt) if captures of a SURT are to be resolved.
CREATE TEMP TABLE doc_of AS
SELECT p.source_id, p.warc_record_offset,
       base + row_number() OVER (PARTITION BY shard ORDER BY p.searchable DESC, p.source_id, p.warc_record_offset) - 1 AS doc,
       row_number() OVER (PARTITION BY p.source_id ORDER BY p.searchable DESC, p.warc_record_offset) - 1 AS place
FROM pages p JOIN shard_of s ON s.source_id = p.source_id AND p.warc_record_offset >= first AND p.warc_record_offset < last
WHERE is_inside(p.url);

CREATE TEMP TABLE revisits AS
SELECT source_id, warc_record_offset, url, fetch_time, fetch_status, digest_key, refers_to_url, refers_to_time, refers_to_id
FROM captures WHERE warc_record_type = 'revisit' AND is_touched(url_surtkey);

-- Captures that a revisit may repeat: most captures are none, and a copy of all takes as long as the rest of this file.
CREATE TEMP TABLE originals AS
SELECT source_id, warc_record_offset, url, fetch_time, fetch_status, content_digest, content_mime_detected,
       content_mime_type, content_languages, content_charset, warc_record_length, fetch_redirect, content_truncated,
       digest_key, warc_record_id
FROM captures WHERE warc_record_type IN ('response', 'resource') AND fetch_status NOT IN (0, 304)
  AND (url IN (SELECT url FROM revisits UNION SELECT refers_to_url FROM revisits WHERE refers_to_url IS NOT NULL)
       OR digest_key IN (SELECT digest_key FROM revisits WHERE digest_key IS NOT NULL)
       OR warc_record_id IN (SELECT refers_to_id FROM revisits WHERE refers_to_id IS NOT NULL));

-- The records that revisits name: by URL and second (some writers drop the fraction in one place only), or by record id.
CREATE TEMP TABLE named AS
SELECT r.source_id AS r_source, r.warc_record_offset AS r_offset,
       CASE WHEN coalesce(r.digest_key = o.digest_key, true) OR r.fetch_status = 304 THEN 1 ELSE 5 END AS preference,
       o.*, abs(epoch(o.fetch_time) - epoch(r.refers_to_time)) AS distance
FROM revisits r JOIN originals o
  ON o.url = r.refers_to_url AND date_trunc('second', o.fetch_time) = date_trunc('second', r.refers_to_time)
UNION ALL
SELECT r.source_id, r.warc_record_offset,
       CASE WHEN coalesce(r.digest_key = o.digest_key, true) OR r.fetch_status = 304 THEN 1 ELSE 5 END, o.*, 0
FROM revisits r JOIN (
  SELECT * FROM originals WHERE warc_record_id IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY warc_record_id ORDER BY fetch_time, source_id, warc_record_offset) = 1
) o ON o.warc_record_id = r.refers_to_id;

-- The payload of a revisit is, in this order: what it names, if the digest does not contradict; the same URL with the
-- same digest; for 304 the capture of the URL before; the same digest anywhere; what it names, whatever the digest.
CREATE TEMP TABLE candidates AS
SELECT * FROM named
UNION ALL
SELECT r.source_id, r.warc_record_offset, 2, o.*, abs(epoch(o.fetch_time) - epoch(r.fetch_time))
FROM revisits r JOIN originals o ON o.url = r.url AND o.digest_key = r.digest_key
UNION ALL
SELECT r.source_id, r.warc_record_offset, 3, o.*, epoch(r.fetch_time) - epoch(o.fetch_time)
FROM revisits r JOIN originals o ON o.url = r.url AND o.fetch_time <= r.fetch_time
WHERE r.fetch_status = 304
UNION ALL
SELECT r.source_id, r.warc_record_offset, 4, o.*, 0
FROM revisits r JOIN (
  SELECT * FROM originals WHERE digest_key IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY digest_key ORDER BY fetch_time, source_id, warc_record_offset) = 1
) o ON o.digest_key = r.digest_key;

CREATE TEMP TABLE resolved AS
SELECT * FROM candidates
QUALIFY row_number() OVER (
  PARTITION BY r_source, r_offset ORDER BY preference, distance, fetch_time, source_id, warc_record_offset) = 1;

CREATE TEMP TABLE served AS
SELECT c.url, c.url_surtkey, floor(epoch(c.fetch_time))::BIGINT AS time, c.warc_record_type AS kind,
       -- The digest of the payload's record: a revisit may spell it differently, and reads are compared with it.
       coalesce(o.content_digest, c.content_digest) AS digest,
       CASE WHEN o.source_id IS NOT NULL AND c.fetch_status IN (0, 304) THEN o.fetch_status ELSE c.fetch_status END AS status,
       coalesce(o.content_mime_detected, c.content_mime_detected) AS mime,
       coalesce(o.content_charset, c.content_charset) AS charset,
       coalesce(o.content_mime_type, c.content_mime_type) AS declared,
       coalesce(c.content_languages, o.content_languages) AS languages,
       coalesce(c.fetch_redirect, o.fetch_redirect) AS redirect,
       coalesce(o.content_truncated, c.content_truncated) AS truncated,
       coalesce(o.source_id, c.source_id) AS source_id,
       coalesce(o.warc_record_offset, c.warc_record_offset) AS warc_record_offset,
       CASE WHEN o.source_id IS NOT NULL THEN o.warc_record_length
            WHEN c.warc_record_type = 'revisit' THEN 0 ELSE c.warc_record_length END AS length,
       CASE WHEN c.warc_record_type = 'revisit' THEN c.source_id END AS head_source,
       c.warc_record_offset AS head_offset, c.warc_record_length AS head_length,
       c.source_id AS own_source, c.warc_record_offset AS own_offset
FROM captures c LEFT JOIN resolved o ON o.r_source = c.source_id AND o.r_offset = c.warc_record_offset
WHERE c.url_protocol IN ('http', 'https', 'ftp') AND is_inside(c.url) AND is_touched(c.url_surtkey)
-- A response to POST is a capture of its URL only if there is no response to GET.
QUALIFY coalesce(c.request_method, 'GET') = 'GET'
        OR NOT bool_or(coalesce(c.request_method, 'GET') = 'GET') OVER (PARTITION BY c.url);
