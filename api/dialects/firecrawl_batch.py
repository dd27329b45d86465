"""Firecrawl's batches of pages.

As a crawl's id (`webemu.api.dialects.firecrawl_crawl`), a batch's id encodes what was asked for, and its pages are read
when its status is asked for. So it is always complete, and no server has to remember it.
"""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

import orjson

from webemu.api.dialects.dialect import (
    JsonObject,
    build_response,
    get_flag,
    get_number,
    get_texts,
    read_params,
    request_digest,
)
from webemu.api.dialects.firecrawl_document import read_formats, render_document
from webemu.api.dialects.search import date_days_ago
from webemu.api.http.errors import is_server_fault
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import json_text, urls
from webemu.emulator.errors import BadRequest, EmulatorError, ServiceRefusal
from webemu.emulator.world import World

MAX_URLS = 500
"""Most URLs of a batch."""
MAX_ID_CHARACTERS = 16_000
"""Longest id: it is a part of a URL."""
MAX_DECODED_BYTES = 1 << 20
"""Most bytes that an id unpacks to."""
DOCUMENTS_PER_RESPONSE = 50
"""Most documents of one response; `next` leads to the others."""
_NO_OPTIONS = {"urls", "webhook", "ignoreInvalidURLs", "appendToId", "maxConcurrency", "zeroDataRetention", "origin"}
"""Parameters that are no options of the pages."""


def answer_start(world: World, request: Request) -> Response:
    """Answer `POST /v2/batch/scrape` with the id of a new batch. Raises BadRequest if a parameter is wrong."""
    params = read_params(request)
    requested_urls = get_texts(params, "urls")
    if not requested_urls:
        raise BadRequest("urls is missing", reason="missing-urls")
    if len(requested_urls) > MAX_URLS:
        raise BadRequest(f"more than {MAX_URLS} urls", reason="too-many-urls")
    invalid_urls = [url for url in requested_urls if not _is_valid(url)]
    if invalid_urls and not get_flag(params, "ignoreInvalidURLs", True):
        raise BadRequest(f"Invalid URL: {invalid_urls[0][:200]}", reason="bad-url")
    options = {name: value for name, value in params.items() if name not in _NO_OPTIONS}
    read_formats(options)  # raises BadRequest now, not when the batch is read
    valid_urls = [url for url in requested_urls if url not in invalid_urls]
    packed = zlib.compress(orjson.dumps({"urls": valid_urls, "options": options}), 9)
    job = urlsafe_b64encode(packed).rstrip(b"=").decode()
    if len(job) > MAX_ID_CHARACTERS:
        raise BadRequest("the batch is too large: send fewer urls at a time", reason="too-many-urls")
    url = f"{request.origin}{request.path.rstrip('/')}/{job}"
    return build_response({"success": True, "id": job, "url": url, "invalidURLs": invalid_urls})


def answer_status(world: World, request: Request) -> Response:
    """Answer `GET /v2/batch/scrape/ID` with the documents of a batch from `skip` on."""
    job, at_time, paging = request.path.rpartition("/")[2], request.session.at_time, dict(request.parameters)
    requested_urls, options = _decode_job(job)
    first_index = get_number(paging, "skip", 0, 0, MAX_URLS)
    end_index = first_index + get_number(paging, "limit", DOCUMENTS_PER_RESPONSE, 1, DOCUMENTS_PER_RESPONSE)
    data = []
    for url in requested_urls[first_index:end_index]:
        try:
            data.append(render_document(world, url, options, at_time, request_digest(request)[:24]))
        except EmulatorError as error:
            if is_server_fault(error):
                raise
    total = len(requested_urls)
    payload: JsonObject = {"success": True, "status": "completed", "total": total, "completed": total}
    # As a crawl, a batch expires on the day after the session's: the response does not depend on the clock.
    payload |= {"creditsUsed": total, "expiresAt": f"{date_days_ago(world, -1, at_time)}T00:00:00.000Z"}
    if end_index < total:
        payload["next"] = f"{request.origin}{request.path}?skip={end_index}"
    return build_response({**payload, "data": data})


def answer_errors(world: World, request: Request) -> Response:
    """Answer `GET /v2/batch/scrape/ID/errors` with the pages that could not be read."""
    requested_urls, _ = _decode_job(request.path.split("/")[-2])
    errors = []
    for url in requested_urls:
        try:
            render_document(world, url, {"formats": ["links"]}, request.session.at_time, "")
        except EmulatorError as error:
            if is_server_fault(error):
                raise
            errors.append({"id": request_digest(request)[:24], "url": url, "error": "Page could not be scraped"})
    return build_response({"errors": errors, "robotsBlocked": []})


def answer_cancel(world: World, request: Request) -> Response:
    """Answer `DELETE /v2/batch/scrape/ID`. There is nothing to stop."""
    _decode_job(request.path.rpartition("/")[2])
    return build_response({"success": True, "status": "cancelled", "message": "Batch scrape job cancelled"})


def _is_valid(url: str) -> bool:
    """True if a URL names a host."""
    try:
        host = urls.host_of(urls.parse_user_url(url))
    except BadRequest:
        return False
    return bool(host) and not any(character.isspace() for character in host)


def _decode_job(job: str) -> tuple[list[str], JsonObject]:
    """Return the URLs and the options that a batch's id encodes. Raises ServiceRefusal if it encodes none."""
    try:
        packed = urlsafe_b64decode(job + "=" * (-len(job) % 4))
        content = json_text.parse_json(zlib.decompressobj().decompress(packed, MAX_DECODED_BYTES))
    except (ValueError, zlib.error):
        content = None
    if isinstance(content, dict):
        requested_urls, options = content.get("urls"), content.get("options")
        if isinstance(options, dict) and isinstance(requested_urls, list) and len(requested_urls) <= MAX_URLS:
            return [str(url) for url in requested_urls], options
    raise ServiceRefusal("Job not found", reason="no-such-job", status=404)
