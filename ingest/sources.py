"""Resolution of what the user named (files, folders, globs, Common Crawl path lists, URLs) to single archive files.

Only path lists are downloaded here; archives are downloaded when they are ingested (`webemu.ingest.run`).
"""

from __future__ import annotations

import glob
import os
import re
import shlex
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from urllib.parse import urljoin, urlsplit

from webemu.emulator.errors import SourceError
from webemu.ingest.formats import FORMATS, TITLES
from webemu.ingest.formats.detection import detect_format
from webemu.ingest.unpack import PACKINGS, PLAIN

_LIST_NAME = re.compile(r"\.paths(\.gz)?$")


def _compile_names(*, is_dump: bool) -> re.Pattern[str]:
    """Return the pattern of the file names of archives, or of dumps of texts.

    A name with any packing counts if its family has packed formats: `x.arc.zst` is refused later, and not overlooked.
    """
    formats = [one for one in FORMATS if one.is_dump == is_dump]
    packed_titles = {one.title for one in formats if one.packing is not PLAIN}
    suffixes: set[str] = set()
    for container_format in formats:
        suffixes.update(container_format.suffixes)
        if container_format.packing is PLAIN and container_format.title in packed_titles:
            suffixes.update(suffix + packing.suffix for suffix in container_format.suffixes for packing in PACKINGS)
    return re.compile(f"(?:{'|'.join(map(re.escape, sorted(suffixes)))})$", re.IGNORECASE)


ARCHIVE_NAME = _compile_names(is_dump=False)
"""Names that are taken for archives inside folders and globs."""
DUMP_NAME = _compile_names(is_dump=True)
"""Names that are taken for dumps of texts.

They are taken only if the glob ends like one: other files next to archives have such names.
"""
_ACCEPTED = f"{', '.join(TITLES)} files, folders and globs of archives, *.paths(.gz) lists, or URLs of these"


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
class SourceList:
    """Archives that were named, and what was passed over."""

    sources: list[Source] = field(default_factory=list)
    """Archives in order, each once."""
    ignored_count: int = 0
    """Number of files inside folders and globs whose names are not those of archives."""
    dump_globs: dict[str, None] = field(default_factory=dict)
    """Globs that would name those among them that are dumps of texts, in order."""
    missing_lines: list[str] = field(default_factory=list)
    """Lines of path lists that are not below their root: a mirror may hold a part of a crawl."""


def expand_sources(arguments: Sequence[str], root: Path | None = None, base_url: str | None = None) -> SourceList:
    """Return every archive that the arguments name, in order, each once.

    Lines of a path list are files below `root`; those not there are downloaded from `base_url` if it is given. Raises
    SourceError if an argument does not exist, matches nothing, or is not an archive.

        expand_sources(["crawl/*.warc.gz"]).sources
    """
    source_list = SourceList()
    sources_by_location: dict[str, Source] = {}
    for argument in arguments:
        for source in _expand_argument(argument, root, base_url, source_list):
            sources_by_location.setdefault(source.url or os.path.realpath(source.path), source)
    source_list.sources = list(sources_by_location.values())
    return source_list


def expand_archives(arguments: Sequence[str], root: Path | None = None, base_url: str | None = None) -> SourceList:
    """Return `expand_sources`, with one archive at least. Raises SourceError if there is none."""
    source_list = expand_sources(arguments, root, base_url)
    if not source_list.sources:
        raise SourceError("the sources hold no archive", action=advise(source_list))
    return source_list


def advise(source_list: SourceList) -> str:
    """Return what to name instead of sources that hold no archive, or fewer than were meant."""
    if source_list.dump_globs:
        return f"dumps of texts inside a folder are taken if a glob names them: {shlex.join(source_list.dump_globs)}"
    return f"name {', '.join(TITLES)} files, or a folder of archives"


def _expand_argument(
    argument: str, root: Path | None, base_url: str | None, source_list: SourceList
) -> Iterator[Source]:
    """Yield the archives that one argument names."""
    path = Path(argument)
    if is_url(argument):
        if is_path_list(argument):
            base = base_url or (None if root else urljoin(argument, "/"))
            yield from _iter_listed_sources(download_list(argument), argument, root, base, source_list)
        else:
            yield source_from_url(argument)
    elif path.is_dir():
        yield from _find_archives_below(path, source_list)
    elif path.is_file():
        if _LIST_NAME.search(path.name):
            lines = _read_list(path.read_bytes(), argument)
            list_root = root or (None if base_url else _guess_root(path, lines))
            yield from _iter_listed_sources(lines, argument, list_root, base_url, source_list)
        else:
            yield _check_named_source(path)
    elif glob.has_magic(argument):
        yield from _find_archives_matching(argument, source_list)
    else:
        raise SourceError(f"{argument} does not exist", action=f"name {_ACCEPTED}")


def is_path_list(url: str) -> bool:
    """True if a URL names a list of paths, as Common Crawl has them."""
    return bool(_LIST_NAME.search(urlsplit(url).path))


def is_url(text: str) -> bool:
    """True if the text is an http(s) URL."""
    return text.lower().startswith(("http://", "https://"))


def source_from_url(url: str) -> Source:
    """Return the file at a URL.

    Its name has host and path, so that files of the same name on several hosts stay apart.
    """
    parts = urlsplit(url)
    name = _require_safe_path(f"{parts.netloc.rpartition('@')[2]}/{parts.path.lstrip('/')}".replace(":", "_"), url)
    if parts.query:
        name = f"{name}.{blake2b(parts.query.encode(), digest_size=4).hexdigest()}"
    return Source(Path(name), name, url)


def _require_safe_path(name: str, list_name: str) -> str:
    """Return a name as a relative path below its folder. Raises SourceError if it leads out of it."""
    path = PurePosixPath(name.strip().lstrip("/"))
    if ".." in path.parts or not path.parts or "\0" in name:
        raise SourceError(f"{list_name}: {name!r} leads out of its folder", action="correct the list or the URL")
    return str(path)


def _check_named_source(path: Path) -> Source:
    """Return a file that was named itself.

    Raises SourceError if neither its name nor its bytes are those of an archive.
    """
    if not ARCHIVE_NAME.search(path.name) and detect_format(path) is None:
        raise SourceError(f"{path} is not an archive in a known format", action=f"name {_ACCEPTED}")
    return Source(path, path.name)


def _find_archives_below(folder: Path, source_list: SourceList) -> Iterator[Source]:
    """Yield the archives below a folder, sorted. Raises SourceError if a folder cannot be read."""

    def refuse(error: OSError) -> None:
        raise SourceError(f"folder {error.filename} cannot be read: {error.strerror}", action="check its permissions")

    for parent, folders, files in os.walk(folder, onerror=refuse):
        folders.sort()
        paths = [Path(parent, name) for name in sorted(files)]
        yield from _select_archives([path for path in paths if path.is_file()], folder, source_list)


def _find_archives_matching(pattern: str, source_list: SourceList) -> Iterator[Source]:
    """Yield the archives that a glob matches, sorted. Raises SourceError if nothing matches."""
    base_folder = Path(*_take_fixed_parts(Path(pattern).parts))
    # Path.glob refuses absolute patterns.
    matches = [Path(match) for match in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207
    if not matches:
        raise SourceError(f"no file matches {pattern}", action="check the pattern, and quote it so that ** works")
    name_pattern = DUMP_NAME if DUMP_NAME.search(pattern.rstrip("*")) else ARCHIVE_NAME
    yield from _select_archives([match for match in matches if match.is_file()], base_folder, source_list, name_pattern)


def _take_fixed_parts(parts: Sequence[str]) -> Iterator[str]:
    """Yield the leading parts of a pattern that hold no wildcard."""
    for part in parts[:-1]:
        if glob.has_magic(part):
            return
        yield part


def _select_archives(
    files: Sequence[Path], folder: Path, source_list: SourceList, name_pattern: re.Pattern[str] = ARCHIVE_NAME
) -> Iterator[Source]:
    """Yield the files whose names match `name_pattern`, and count the others as ignored."""
    for file in files:
        if name_pattern.search(file.name):
            yield Source(file, file.relative_to(folder).as_posix())
        else:
            source_list.ignored_count += 1
            if suffix := DUMP_NAME.search(file.name):
                source_list.dump_globs[str(file.parent / f"*{suffix[0]}")] = None


def download_list(url: str) -> list[str]:
    """Return the lines of a path list at a URL."""
    from webemu.ingest.download import fetch  # a client of HTTP takes half a second to import

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "list")
        fetch(url, path, None, is_first_contact=True)
        return _read_list(path.read_bytes(), url)


def _read_list(content: bytes, list_name: str) -> list[str]:
    """Return the non-empty lines of a path list, plain or gzip. Raises SourceError if it is not text."""
    try:
        text = zlib.decompress(content, 31) if content.startswith(b"\x1f\x8b") else content
        return [line for line in map(str.strip, text.decode("utf-8").splitlines()) if line]
    except (zlib.error, UnicodeDecodeError) as error:
        raise SourceError(
            f"{list_name} is not a list of paths (UTF-8 text, plain or gzip): {error}", action="download it again"
        ) from error


def _guess_root(path: Path, lines: list[str]) -> Path | None:
    """Return the folder that the lines of a list are relative to, or None.

    Mirrors keep a list at its place in the tree: the root is the nearest folder above it that holds any of the first
    lines.
    """
    for folder in (Path(), *path.absolute().parents):
        if any((folder / strip_bucket(line)).is_file() for line in lines[:100]):
            return folder
    return None


def strip_bucket(line: str) -> str:
    """Return a line of a path list without Common Crawl's bucket."""
    return line.removeprefix("s3://commoncrawl/").lstrip("/")


def _iter_listed_sources(
    lines: list[str], list_name: str, root: Path | None, base_url: str | None, source_list: SourceList
) -> Iterator[Source]:
    """Yield the files that a path list names. Raises SourceError if its root is unknown or none of them exists."""
    if root is None and base_url is None:
        raise SourceError(
            f"{list_name}: the location of its files is not known",
            action="give --paths-root (a folder) or --base-url (such as https://data.commoncrawl.org/)",
        )
    missing = 0
    for line in lines:
        if is_url(line):
            yield source_from_url(line)
            continue
        name = _require_safe_path(strip_bucket(line), list_name)
        if root is not None and (root / name).is_file():
            yield Source(root / name, name)
        elif base_url is not None:
            yield Source(Path(name), name, urljoin(base_url.rstrip("/") + "/", name))
        else:
            source_list.missing_lines.append(name)
            missing += 1
    if lines and missing == len(lines):
        raise SourceError(
            f"{list_name}: none of its {missing} files exists below {root}",
            action="point --paths-root at the folder that the lines are relative to, or give --base-url",
        )
