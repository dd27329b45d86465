"""Byte ranges of remote files over HTTP: one request at a time, paced, and repeated when the server asks for it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import httpx

from webemu.emulator.errors import SourceError
from webemu.ingest.download import RetryableError, check_status, choose_wait

_MAX_FAILURES = 8
"""Consecutive failures after which a range is given up."""


class RangeClient:
    """Reads byte ranges below a base URL. Use it as a context manager."""

    def __init__(self, base_url: str, delay_seconds: float, pause: Callable[[float], None] = time.sleep) -> None:
        self._base_url = base_url.rstrip("/") + "/"
        self._delay_seconds = delay_seconds
        self._pause = pause
        # No content coding: offsets and lengths must be those of the file.
        headers = {"Accept-Encoding": "identity", "User-Agent": "webemu-pick"}
        self._http = httpx.Client(follow_redirects=True, timeout=httpx.Timeout(30.0, read=60.0), headers=headers)
        self.requests = 0
        """Requests that were sent, with repeated ones."""
        self.bytes = 0
        """Bytes of bodies that were received, with those of broken answers."""

    def __enter__(self) -> RangeClient:
        """Return the client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self._http.close()

    def read(self, filename: str, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end` of a file.

        Raises SourceError if the server refuses the file, has no ranges, or keeps failing.
        """
        url = self._base_url + filename.lstrip("/")
        failures = 0
        while True:
            if self.requests:
                self._pause(self._delay_seconds)
            try:
                return self._try_read(url, start, end)
            except (RetryableError, httpx.TransportError) as error:
                failures += 1
                if failures >= _MAX_FAILURES:
                    why = str(error) or type(error).__name__
                    raise SourceError(
                        f"{url}: {why}, {failures} times in a row", action="run the same command later to continue"
                    ) from error
                self._pause(choose_wait(failures, getattr(error, "after", None)))

    def _try_read(self, url: str, start: int, end: int) -> bytes:
        """Make one request. Raise RetryableError if another may succeed."""
        self.requests += 1
        body = bytearray()
        with self._http.stream("GET", url, headers={"Range": f"bytes={start}-{end - 1}"}) as response:
            if response.status_code == 416:
                raise SourceError(f"{url} ends before byte {start}", action="the file changed: use its own index")
            check_status(url, response)
            _check_range(url, response, start)
            for chunk in response.iter_raw():
                self.bytes += len(chunk)
                body += chunk
                if len(body) > end - start:
                    raise RetryableError(f"the answer is longer than {end - start} bytes")
        if len(body) < end - start and _read_total_bytes(response) > start + len(body):
            raise RetryableError(f"received {len(body)} of {end - start} bytes")
        return bytes(body)


def _check_range(url: str, response: httpx.Response, start: int) -> None:
    """Raise SourceError if the server sends the whole file, RetryableError if it sends another range."""
    if response.status_code != 206:
        raise SourceError(f"{url}: the server ignores byte ranges", action="download whole files with webemu ingest")
    if not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
        raise RetryableError(f"the server sent {response.headers.get('Content-Range', 'no Content-Range')}")


def _read_total_bytes(response: httpx.Response) -> int:
    """Return the size of the remote file; a size that is never reached if the server does not say it."""
    total = re.search(r"/(\d+)$", response.headers.get("Content-Range", ""))
    return int(total[1]) if total else 1 << 62
