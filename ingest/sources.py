"""Resolution of what the user named (files, folders, globs, Common Crawl path lists, URLs) to single archive files.

Only path lists are downloaded here; archives are downloaded when they are ingested (`webemu.ingest.run`).
"""

from __future__ import annotations

import glob
import os
import re
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from urllib.parse import urljoin, urlsplit

from webemu.emulator.errors import SourceError
from webemu.ingest.container_format import detect
from webemu.ingest.download import fetch

SUFFIX = re.compile(r"\.(warc|arc|wet|wat)(\.(gz|zst|lz4))?$|\.wacz$", re.IGNORECASE)
"""Names that are taken for archives inside folders and globs."""
DUMP = re.compile(r"\.(jsonl|ndjson|parquet|json\.(gz|zst))(\.(gz|zst))?$", re.IGNORECASE)
"""Names that are taken for dumps of texts.

They are taken only if the glob ends like one: other files next to archives have such names.
"""
_LIST = re.compile(r"\.paths(\.gz)?$")
_KINDS = (
    "WARC, ARC, WET, WAT or WACZ files, folders and globs of these, JSONL or Parquet files, *.paths(.gz) lists, or URLs"
    " of these"
)


@dataclass(frozen=True, slots=True)
class Source:
    """One archive file to ingest."""

    path: Path
    """Path of the file. If it must be downloaded first, its name as a relative path."""
    name: str
    """Name in the catalog. It is never absolute and never contains `..`.

    It is the path relative to the named folder, the line of the list, host and path of the URL, or the file name.
    """
    url: str | None = None
    """URL to download the file from; None if it is here."""


@dataclass(slots=True)
class Found:
    """Archives that were named, and what was passed over."""

    sources: list[Source] = field(default_factory=list)
    """Archives in order, each once."""
    ignored: int = 0
    """Number of files inside folders and globs whose names are not those of archives."""
    missing: list[str] = field(default_factory=list)
    """Lines of path lists that are not below their root: a mirror may hold a part of a crawl."""


def expand(arguments: Sequence[str], root: Path | None = None, base_url: str | None = None) -> Found:
    """Return every archive that the arguments name, in order, each once.

    Lines of a path list are files below `root`; those not there are downloaded from `base_url` if it is given. Raises
    SourceError if an argument does not exist, matches nothing, or is not an archive.

        expand_sources(["crawl/*.warc.gz"]).sources
    """
    found = Found()
    unique: dict[str, Source] = {}
    for argument in arguments:
        for source in _expand(argument, root, base_url, found):
            unique.setdefault(source.url or os.path.realpath(source.path), source)
    found.sources = list(unique.values())
    return found


def _expand(argument: str, root: Path | None, base_url: str | None, found: Found) -> Iterator[Source]:
    """Yield the archives that one argument names."""
    path = Path(argument)
    if is_url(argument):
        if _LIST.search(urlsplit(argument).path):
            base = base_url or (None if root else urljoin(argument, "/"))
            yield from _listed(_lines_at(argument), argument, root, base, found)
        else:
            yield from_url(argument)
    elif path.is_dir():
        yield from _inside(path, found)
    elif path.is_file():
        if _LIST.search(path.name):
            lines = _lines(path.read_bytes(), argument)
            below = root or (None if base_url else _guess_root(path, lines))
            yield from _listed(lines, argument, below, base_url, found)
        else:
            yield _named(path)
    elif glob.has_magic(argument):
        yield from _matching(argument, found)
    else:
        raise SourceError(f"{argument} does not exist", action=f"name {_KINDS}")


def is_url(text: str) -> bool:
    """True if the text is an http(s) URL."""
    return text.lower().startswith(("http://", "https://"))


def from_url(url: str) -> Source:
    """Return the file at a URL.

    Its name has host and path, so that files of the same name on several hosts stay apart.
    """
    parts = urlsplit(url)
    name = _safe(f"{parts.netloc.rpartition('@')[2]}/{parts.path.lstrip('/')}".replace(":", "_"), url)
    if parts.query:
        name = f"{name}.{blake2b(parts.query.encode(), digest_size=4).hexdigest()}"
    return Source(Path(name), name, url)


def _safe(name: str, where: str) -> str:
    """Return a name as a relative path below its folder. Raises SourceError if it leads out of it."""
    path = PurePosixPath(name.strip().lstrip("/"))
    if ".." in path.parts or not path.parts or "\0" in name:
        raise SourceError(f"{where}: {name!r} leads out of its folder", action="correct the list or the URL")
    return str(path)


def _named(path: Path) -> Source:
    """Return a file that was named itself.

    Raises SourceError if neither its name nor its bytes are those of an archive.
    """
    if not SUFFIX.search(path.name) and detect(path) == "unknown":
        raise SourceError(f"{path} is not an archive in a known format", action=f"name {_KINDS}")
    return Source(path, path.name)


def _inside(folder: Path, found: Found) -> Iterator[Source]:
    """Yield the archives below a folder, sorted. Raises SourceError if a folder cannot be read."""

    def refuse(error: OSError) -> None:
        raise SourceError(f"folder {error.filename} cannot be read: {error.strerror}", action="check its permissions")

    for where, folders, files in os.walk(folder, onerror=refuse):
        folders.sort()
        paths = [Path(where, name) for name in sorted(files)]
        yield from _archives([path for path in paths if path.is_file()], folder, found)


def _matching(pattern: str, found: Found) -> Iterator[Source]:
    """Yield the archives that a glob matches, sorted. Raises SourceError if nothing matches."""
    fixed = Path(*_before_magic(Path(pattern).parts))
    # Path.glob refuses absolute patterns.
    matches = [Path(match) for match in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207
    if not matches:
        raise SourceError(f"no file matches {pattern}", action="check the pattern, and quote it so that ** works")
    wanted = DUMP if DUMP.search(pattern.rstrip("*")) else SUFFIX
    yield from _archives([match for match in matches if match.is_file()], fixed, found, wanted)


def _before_magic(parts: Sequence[str]) -> Iterator[str]:
    """Yield the leading parts of a pattern that hold no wildcard."""
    for part in parts[:-1]:
        if glob.has_magic(part):
            return
        yield part


def _archives(files: Sequence[Path], folder: Path, found: Found, wanted: re.Pattern[str] = SUFFIX) -> Iterator[Source]:
    """Yield the files whose names match `name_pattern`, and count the others as ignored."""
    for file in files:
        if wanted.search(file.name):
            yield Source(file, file.relative_to(folder).as_posix())
        else:
            found.ignored += 1


def _lines_at(url: str) -> list[str]:
    """Return the lines of a path list at a URL."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "list")
        fetch(url, path, None)
        return _lines(path.read_bytes(), url)


def _lines(packed: bytes, where: str) -> list[str]:
    """Return the non-empty lines of a path list, plain or gzip. Raises SourceError if it is not text."""
    try:
        text = zlib.decompress(packed, 31) if packed.startswith(b"\x1f\x8b") else packed
        return [line for line in map(str.strip, text.decode("utf-8").splitlines()) if line]
    except (zlib.error, UnicodeDecodeError) as error:
        raise SourceError(
            f"{where} is not a list of paths (UTF-8 text, plain or gzip): {error}", action="download it again"
        ) from error


def _guess_root(path: Path, lines: list[str]) -> Path | None:
    """Return the folder that the lines of a list are relative to, or None.

    Mirrors keep a list at its place in the tree: the root is the nearest folder above it that holds any of the first
    lines.
    """
    for folder in (Path(), *path.absolute().parents):
        if any((folder / _relative(line)).is_file() for line in lines[:100]):
            return folder
    return None


def _relative(line: str) -> str:
    """Return a line of a path list without Common Crawl's bucket."""
    return line.removeprefix("s3://commoncrawl/").lstrip("/")


def _listed(lines: list[str], where: str, root: Path | None, base_url: str | None, found: Found) -> Iterator[Source]:
    """Yield the files that a path list names. Raises SourceError if its root is unknown or none of them exists."""
    if root is None and base_url is None:
        raise SourceError(
            f"{where}: the location of its files is not known",
            action="give --paths-root (a folder) or --base-url (such as https://data.commoncrawl.org/)",
        )
    missing = 0
    for line in lines:
        if is_url(line):
            yield from_url(line)
            continue
        name = _safe(_relative(line), where)
        if root is not None and (root / name).is_file():
            yield Source(root / name, name)
        elif base_url is not None:
            yield Source(Path(name), name, urljoin(base_url.rstrip("/") + "/", name))
        else:
            found.missing.append(name)
            missing += 1
    if lines and missing == len(lines):
        raise SourceError(
            f"{where}: none of its {missing} files exists below {root}",
            action="point --paths-root at the folder that the lines are relative to, or give --base-url",
        )
