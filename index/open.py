"""Opening a snapshot for serving: the two ports of `webemu.emulator.ports`, filled from files that never change."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import local

import zstandard

from webemu.emulator.article import Article
from webemu.emulator.errors import EmulatorError, PayloadError, SnapshotError
from webemu.emulator.ports import Finder
from webemu.emulator.types import Archive, Capture, Payload
from webemu.emulator.world import World
from webemu.index import html_select, views, wiki
from webemu.index.blobs import Blobs
from webemu.index.columns import Columns
from webemu.index.engine import Engine
from webemu.index.files import Files
from webemu.index.link_rewriting import Link, replayed, replayed_css
from webemu.index.lookup import FILE as LOOKUP_FILE
from webemu.index.lookup import Lookup
from webemu.index.manifest import FORMAT, Manifest, check_contents, current_id, read_manifest
from webemu.index.payloads import decoded, read_part, read_payload
from webemu.index.rank import PLAIN, Weights
from webemu.index.signals.duplicates import FOLDER as DUPLICATES_FOLDER
from webemu.index.signals.duplicates import Duplicates
from webemu.index.text import open_index, segment_bases
from webemu.index.titles import FOLDER as TITLES_FOLDER
from webemu.index.titles import Titles
from webemu.index.vocabulary import FILE as WORDS_FILE
from webemu.index.vocabulary import Vocabulary

__all__ = ["current_id", "open_snapshot", "open_world"]

_own = local()


def _decompressor() -> zstandard.ZstdDecompressor:
    """That of this thread: one shared by threads corrupts data, and making one takes as long as reading a page."""
    try:
        return _own.decompressor  # type: ignore[no-any-return]
    except AttributeError:
        _own.decompressor = zstandard.ZstdDecompressor()
        return _own.decompressor  # type: ignore[no-any-return]


class Conversions:
    """What is made of a document in hand, whatever snapshot it is of."""

    def decoded(self, payload: Payload) -> bytes:
        return decoded(payload)

    def markdown(self, html: str, url: str, text: str = "", *, pictures: bool = False, whole: bool = False) -> str:
        return views.markdown(html, url, text, pictures=pictures, whole=whole)

    def narrowed(self, html: str, wanted: Sequence[str], unwanted: Sequence[str]) -> str | None:
        return html_select.narrowed(html, wanted, unwanted)

    def targets(self, html: str, url: str) -> list[tuple[str, str]]:
        return html_select.targets(html, url)

    def pictures(self, html: str, url: str) -> list[tuple[str, str]]:
        return html_select.pictures(html, url)

    def links(self, html: str, url: str, text: str = "") -> str:
        return views.links(html, url, text)

    def replayed(self, html: str, url: str, link: Link) -> str:
        return replayed(html, url, link)

    def replayed_css(self, css: str, url: str, link: Link) -> str:
        return replayed_css(css, url, link)

    def wiki(self, html: str, url: str) -> Article | None:
        return wiki.article(html, url)


class Pages(Lookup, Conversions):
    """Captures by URL and the content of each."""

    def __init__(self, folder: Path, collection: Path, manifest: Manifest) -> None:
        super().__init__(folder / LOOKUP_FILE, list(manifest.files))
        self._open = Files(collection)
        of_each = zip(manifest.names, manifest.crawls, manifest.files, manifest.spans, strict=True)
        self._archives = [Archive(name, crawl, path, *span) for name, crawl, path, span in of_each]
        self._views = [Blobs(collection / "shards" / shard / "views") for shard in manifest.shards]
        self._bases = manifest.bases
        self._titles = Titles(folder / TITLES_FOLDER)
        self._vocabulary = Vocabulary(folder / WORDS_FILE)

    def text(self, doc: int) -> tuple[str, str]:
        """(title, text) of a page view."""
        shard = bisect_right(self._bases, doc) - 1
        blob = self._views[shard][doc - self._bases[shard]]
        title, _, text = _decompressor().decompress(blob).decode().partition("\n")
        return title, text

    def payload(self, capture: Capture, wait: bool = True) -> Payload:
        return read_payload(self._open, capture, wait)

    def archives(self) -> Sequence[Archive]:
        return self._archives

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterator[bytes]:
        return read_part(self._open, archive.path, offset, length)

    def html(self, capture: Capture) -> str | None:
        """The decoded document, None for what has no character encoding."""
        if not capture.charset:
            return None
        body = decoded(self.payload(capture))
        try:
            return body.decode(capture.charset, "replace")
        except LookupError as error:
            raise PayloadError(
                f"{capture.url}: unknown encoding {capture.charset}", reason="payload-undecodable"
            ) from error

    def suggest(self, prefix: str, limit: int) -> list[str]:
        return self._titles.suggest(prefix, limit)

    def nearest(self, word: str) -> Iterable[str]:
        return self._vocabulary.nearest(word)


def open_snapshot(collection: Path, snapshot: str) -> World:
    """Open one snapshot of a collection. Raises SnapshotError."""
    folder = collection / "snapshots" / snapshot
    manifest, engine, pages = _opened(collection, folder)
    figures: dict[str, object] = {
        name: getattr(manifest, name) for name in ("sources", "captures", "urls", "hosts", "pages", "documents")
    }
    told = {"collection": collection.name, **figures}
    return World(snapshot, engine, pages, told, _engines(engine, folder, manifest))


def check_snapshot(collection: Path, snapshot: str) -> None:
    """Open a snapshot without its vectors and let go of it. Raises what prevents it from being served."""
    _opened(collection, collection / "snapshots" / snapshot)


def _opened(collection: Path, folder: Path) -> tuple[Manifest, Engine, Pages]:
    manifest = read_manifest(folder)
    if manifest.format != FORMAT:
        raise SnapshotError(
            f"snapshot {folder.name} has format {manifest.format}, this version reads {FORMAT}",
            action="webemu snapshots build",
            place=str(folder),
        )
    check_contents(collection, manifest)
    index = open_index(folder / "text")
    bases = segment_bases(folder / "text", index.searcher(), list(manifest.segments), list(manifest.bases))
    records = [Blobs(collection / "shards" / shard / "records") for shard in manifest.shards]
    columns, duplicates = Columns(folder / "columns"), Duplicates(folder / DUPLICATES_FOLDER)
    weights = Weights.of(manifest.weights)
    engine = Engine(index, bases, records, list(manifest.bases), columns, duplicates, weights)
    return manifest, engine, Pages(folder, collection, manifest)


def _engines(engine: Engine, folder: Path, manifest: Manifest) -> dict[str, Finder]:
    """The ways of searching by name: `full` is the snapshot's own, `plain` its BM25 alone, `weak` that of titles."""
    found: dict[str, Finder] = {"full": engine, "plain": engine.variant(PLAIN), "weak": engine.variant(PLAIN, "title")}
    if manifest.dense is None:
        return found
    try:
        from webemu.index.dense.open import opened  # of the extra `dense`

        modes = opened(folder, manifest, engine)
    except (ModuleNotFoundError, EmulatorError) as error:
        logging.getLogger(__name__).warning("snapshot %s is searched without its vectors: %s", manifest.id, error)
        return found
    return found | {str(name): finder for name, finder in modes.items() if name != "bm25"}


def open_world(collection: Path) -> World:
    """Open the snapshot that is CURRENT. Raises SnapshotError when there is none."""
    snapshot = current_id(collection)
    if snapshot is None:
        raise SnapshotError(
            "the collection has no snapshot yet",
            action="webemu ingest SOURCE... --collection NAME builds one",
            place=str(collection),
        )
    return open_snapshot(collection, snapshot)
