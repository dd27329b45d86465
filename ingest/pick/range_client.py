"""Byte ranges of remote files over HTTP: one request at a time, paced, and repeated when the server asks for it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TypeVar

import httpx

from webemu.emulator.errors import SourceError
from webemu.ingest.download import RetryableError, check_status, choose_patience, choose_wait, describe_failure

T = TypeVar("T")


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
        """Return the bytes from `start` up to `end` of a file below the base URL.

        Raises SourceError if the server refuses the file, has no ranges, or keeps failing.
        """
        return self.read_url(self._base_url + filename.lstrip("/"), start, end)

    def read_url(self, url: str, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end` of what a URL names, wherever it is; raises what `read` raises."""
        return self._repeat(url, lambda: self._try_read(url, start, end))

    def read_tail(self, url: str, length: int) -> tuple[bytes, int]:
        """Return the last `length` bytes of what a URL names, all if it is shorter, and its size; raises what `read`
        raises.
        """
        return self._repeat(url, lambda: self._try_read_tail(url, length))

    def _repeat(self, url: str, attempt: Callable[[], T]) -> T:
        """Return what `attempt` returns, after as many attempts as it takes."""
        failures = 0
        while True:
            if self.requests:
                self._pause(self._delay_seconds)
            try:
                return attempt()
            except (RetryableError, httpx.TransportError) as error:
                failures += 1
                if failures >= choose_patience(error, is_first_contact=not self.bytes):
                    raise describe_failure(url, error, failures) from error
                self._pause(choose_wait(failures, getattr(error, "after", None)))

    def _try_read(self, url: str, start: int, end: int) -> bytes:
        """Make one request for a range. Raise RetryableError if another may succeed."""
        self.requests += 1
        with self._http.stream("GET", url, headers={"Range": f"bytes={start}-{end - 1}"}) as response:
            if response.status_code == 416:
                raise SourceError(f"{url} ends before byte {start}", action="the file changed: use its own index")
            check_status(url, response)
            _check_range(url, response, f"bytes {start}-")
            body = self._receive(response, end - start)
        if len(body) < end - start and _read_total_bytes(response) > start + len(body):
            raise RetryableError(f"received {len(body)} of {end - start} bytes")
        return body

    def _try_read_tail(self, url: str, length: int) -> tuple[bytes, int]:
        """Make one request for the end of a file. Raise RetryableError if another may succeed."""
        self.requests += 1
        with self._http.stream("GET", url, headers={"Range": f"bytes=-{length}"}) as response:
            if response.status_code == 416:
                raise SourceError(f"{url} is empty", action="check the URL")
            check_status(url, response)
            _check_range(url, response, "bytes ")
            body, size = self._receive(response, length), _read_total_bytes(response)
        if len(body) != min(length, size):
            raise RetryableError(f"received {len(body)} bytes of the last {length}")
        return body, size

    def _receive(self, response: httpx.Response, max_bytes: int) -> bytes:
        """Return the body. Raise RetryableError if it has more than `max_bytes`."""
        body = bytearray()
        for chunk in response.iter_raw():
            self.bytes += len(chunk)
            body += chunk
            if len(body) > max_bytes:
                raise RetryableError(f"the answer is longer than {max_bytes} bytes")
        return bytes(body)


def _check_range(url: str, response: httpx.Response, beginning: str) -> None:
    """Raise SourceError if the server sends the whole file, RetryableError if it sends another range."""
    if response.status_code != 206:
        raise SourceError(f"{url}: the server ignores byte ranges", action="download whole files with webemu ingest")
    if not response.headers.get("Content-Range", "").startswith(beginning):
        raise RetryableError(f"the server sent {response.headers.get('Content-Range', 'no Content-Range')}")


def _read_total_bytes(response: httpx.Response) -> int:
    """Return the size of the remote file; a size that is never reached if the server does not say it."""
    total = re.search(r"/(\d+)$", response.headers.get("Content-Range", ""))
    return int(total[1]) if total else 1 << 62
