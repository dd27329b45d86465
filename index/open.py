"""Opens a snapshot for serving: fills the ports `PageStore` and `Ranker` of `webemu.emulator.ports` from
immutable files.

Start at `open_world` (the snapshot that CURRENT names) or `open_snapshot` (one by id). Building is
`webemu.index.snapshot`.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from webemu.emulator.article import Article
from webemu.emulator.cancellation import raise_if_cancelled
from webemu.emulator.errors import EmulatorError, PayloadError, SnapshotError
from webemu.emulator.ports import Ranker
from webemu.emulator.types import Archive, Capture, Payload, View
from webemu.emulator.warc_range import is_by, read_allowed_records
from webemu.emulator.world import World
from webemu.index import html_select, views, wiki
from webemu.index.blobs import Blobs
from webemu.index.codings import thread_decompressor
from webemu.index.columns import Columns
from webemu.index.duplicate_clusters import FOLDER as DUPLICATES_FOLDER
from webemu.index.duplicate_clusters import Duplicates
from webemu.index.engine import RankEngine
from webemu.index.files import WarcFilePool
from webemu.index.index_reader import IndexFiles
from webemu.index.link_rewriting import LinkRewriter, rewrite_css_links, rewrite_links
from webemu.index.lookup import FILE as LOOKUP_FILE
from webemu.index.lookup import Lookup
from webemu.index.manifest import FORMAT, Manifest, check_contents, current_id, read_manifest
from webemu.index.payloads import decode_payload, read_payload, read_pieces
from webemu.index.rank import FLAT_BM25, Weights
from webemu.index.readable_texts import list_readable_texts
from webemu.index.recent_conversions import RecentConversions
from webemu.index.removal.rules import Rules, find_rules
from webemu.index.removal.stale import refuse_stale
from webemu.index.text import compute_segment_bases, open_index
from webemu.index.titles import FOLDER as TITLES_FOLDER
from webemu.index.titles import Completion, Titles, complete
from webemu.index.vocabulary import FILE as WORDS_FILE
from webemu.index.vocabulary_reader import Vocabulary

__all__ = ["RECENT_CONVERSIONS", "current_id", "open_snapshot", "open_world"]

RECENT_CONVERSIONS = RecentConversions()
"""Converted documents of all snapshots together, since what a document becomes depends on the document alone."""


class DocumentConverter:
    """Conversions of a document in hand that need no snapshot: the stateless half of the port `PageStore`."""

    def decode_body(self, payload: Payload) -> bytes:
        """Return the body of a payload without its content coding."""
        return decode_payload(payload)

    def readable_texts(self, payload: Payload, html: str | None) -> Iterator[str]:
        """Yield everything that can be read in a recorded response, in any disguise; `html` is its document."""
        return list_readable_texts(html, decode_payload(payload), payload.headers)

    def markdown(
        self, html: str, url: str, text: str = "", *, pictures: bool = False, full_document: bool = False
    ) -> str:
        """Return the content of a document as markdown; `full_document` keeps menus, `pictures` keeps images."""
        convert = partial(views.render_markdown, html, url, text, pictures=pictures, full_document=full_document)
        return RECENT_CONVERSIONS.get_or_convert(convert, "markdown", f"{pictures} {full_document}", url, text, html)

    def select_elements(self, html: str, include: Sequence[str], exclude: Sequence[str]) -> str | None:
        """Return the document reduced by CSS selectors: first `exclude` is removed, then `include` kept. None if
        nothing is left.
        """
        return html_select.select_elements(html, include, exclude)

    def link_targets(self, html: str, url: str) -> list[tuple[str, str]]:
        """Return (text, absolute URL) of every link of a document, in order."""
        return html_select.link_targets(html, url)

    def images(self, html: str, url: str) -> list[tuple[str, str]]:
        """Return (alternative text, absolute URL) of every image of a document, in order."""
        return html_select.images(html, url)

    def find_view(self, capture: Capture, view: View) -> tuple[str, str] | None:
        """Return (title, content) of a capture in a view that was rendered before, without its document; None if it has
        to be rendered.
        """
        identity = self._identify(capture, view)
        titled_content = RECENT_CONVERSIONS.find(*identity) if identity else None
        return None if titled_content is None else _split_title(titled_content)

    def render_view(self, html: str, capture: Capture, view: View, title: str, text: str) -> str:
        """Return a capture as `markdown` or with its `links`, and keep it with its title for `find_view`."""
        render = views.render_markdown if view == "markdown" else views.render_links
        identity = self._identify(capture, view) or (view, capture.url, title, text, html)
        titled_content = RECENT_CONVERSIONS.get_or_convert(
            lambda: f"{title}\n{render(html, capture.url, text)}", *identity
        )
        return _split_title(titled_content)[1]

    def _identify(self, capture: Capture, view: View) -> tuple[str, ...]:
        """Return what says all that a rendering depends on; empty if nothing short does."""
        return ()

    def rewrite_links(self, html: str, url: str, link: LinkRewriter) -> str:
        """Return the document with its links rewritten by `link`, so that they lead into the archive."""
        return rewrite_links(html, url, link)

    def rewrite_css_links(self, css: str, url: str, link: LinkRewriter) -> str:
        """Return a style sheet with its URLs rewritten by `link`."""
        return rewrite_css_links(css, url, link)

    def wiki(self, html: str, url: str) -> Article | None:
        """Return the document as a MediaWiki article; None if MediaWiki did not make it."""
        return wiki.parse_article(html, url)


class SnapshotPageStore(Lookup, DocumentConverter):
    """The port `PageStore` over the files of one snapshot: captures by URL, page texts and payloads. Thread-safe."""

    def __init__(self, folder: Path, collection: Path, manifest: Manifest) -> None:
        """Open the files of the snapshot in `folder`; payloads are read from files below `collection`."""
        super().__init__(folder / LOOKUP_FILE, manifest.source_docs())
        self._file_pool = WarcFilePool(collection)
        archive_fields = zip(manifest.names, manifest.crawls, manifest.files, manifest.spans, strict=True)
        self._redacted = {manifest.files[number] for number in manifest.redacted}
        self._rules = find_rules(collection) if self._redacted else Rules()
        self._archives = [
            Archive(name, crawl, path, *span, is_continued=number in manifest.continued)
            for number, (name, crawl, path, span) in enumerate(archive_fields)
        ]
        self._views = [Blobs(collection / "shards" / shard / "views") for shard in manifest.shards]
        self.has_exchanges = manifest.exchanges > 0
        self._bases = manifest.bases
        self._contents = manifest.contents
        self._titles = [Titles(collection / "shards" / shard / TITLES_FOLDER) for shard in manifest.shards]
        self._vocabulary = Vocabulary(folder / WORDS_FILE)

    def text(self, doc: int) -> tuple[str, str]:
        """Return (title, text) of a page view by dense id."""
        shard = bisect_right(self._bases, doc) - 1
        blob = self._views[shard][doc - self._bases[shard]]
        return _split_title(thread_decompressor().decompress(blob).decode())

    def _identify(self, capture: Capture, view: View) -> tuple[str, ...]:
        """Name the page by its shard's content, which the names of files alone do not tell."""
        if capture.doc < 0 or not self._contents:
            return ()
        shard = bisect_right(self._bases, capture.doc) - 1
        page = f"{capture.doc - self._bases[shard]} {capture.offset} {capture.length} {capture.charset}"
        # The digest tells documents apart that differ in their markup alone.
        return f"titled {view}", self._contents[shard], page, capture.file, capture.url, capture.digest

    def payload(self, capture: Capture, wait: bool = True) -> Payload:
        """Return the recorded response of a capture. Raises PayloadError if it cannot be read.

        Raises BlockingIOError unless `wait`, if the bytes are not in memory or are large. Raises WorkCancelled if
        nobody waits for it: whatever takes long with documents reads each of them here.
        """
        raise_if_cancelled()
        return read_payload(self._file_pool, capture, wait)

    def archives(self) -> Sequence[Archive]:
        """Return the WARC files of the snapshot, with the crawl and the time span of each."""
        return self._archives

    def bytes_of(self, archive: Archive, offset: int, length: int) -> Iterator[bytes]:
        """Yield `length` bytes of a WARC file from `offset` on, in pieces; fewer at its end.

        Of a file that is continued after the snapshot, only whole records that are not later than its last capture; of
        a file from which captures were removed, only whole records of others.

        Raises:
            PayloadError: the file cannot be read.
            NotCaptured: the range holds something else.
        """
        read = partial(read_pieces, self._file_pool, archive.path)
        if not archive.is_continued and archive.path not in self._redacted:
            return read(offset, length)
        return iter(read_allowed_records(archive, read, offset, length, partial(self._is_allowed, archive)))

    def _is_allowed(self, archive: Archive, record: dict[str, str]) -> bool:
        """True if a record of a file that is continued or redacted belongs to the snapshot."""
        if self._rules.covers(record.get("warc-target-uri", "").strip("<>")):
            return False
        return not archive.is_continued or is_by(archive.last_time, record)

    def html(self, capture: Capture) -> str | None:
        """Return the decoded document of a capture; None if it has no character encoding.

        Raises PayloadError if the encoding is unknown or the payload cannot be read.
        """
        if not capture.charset:
            return None
        body = decode_payload(self.payload(capture))
        try:
            return body.decode(capture.charset, "replace")
        except LookupError as error:
            raise PayloadError(
                f"{capture.url}: unknown encoding {capture.charset}", reason="payload-undecodable"
            ) from error

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Return up to `limit` page titles that complete what a user has begun to type."""
        return [completion.title for completion in self.complete(prefix, limit)]

    def complete(self, prefix: str, limit: int) -> list[Completion]:
        """Return the same titles with what orders them."""
        return complete(self._titles, prefix, limit)

    def nearest(self, word: str) -> Iterable[str]:
        """Return words of the crawl that are spelled like this one, nearest first."""
        return self._vocabulary.nearest(word)


def _split_title(titled_text: str) -> tuple[str, str]:
    """Return (title, text) of a text whose first line is its title."""
    title, _, text = titled_text.partition("\n")
    return title, text


def open_snapshot(collection: Path, snapshot: str) -> World:
    """Open one snapshot of a collection for serving. Raises SnapshotError if it is missing, damaged or of another
    version.

        world = open_snapshot(Path("webemu-data/default"), "3f2a9c0d1b7e4856")
        hits = world.search(Query("river council")).hits
    """
    folder = collection / "snapshots" / snapshot
    manifest, engine, page_store = _open_ports(collection, folder)
    refuse_stale(collection, manifest)
    figures: dict[str, object] = {
        name: getattr(manifest, name) for name in ("sources", "captures", "urls", "hosts", "pages", "documents")
    }
    world_figures = {"collection": collection.name, **figures}
    return World(snapshot, engine, page_store, world_figures, _rankers_by_name(engine, folder, manifest))


def check_snapshot(collection: Path, snapshot: str) -> None:
    """Open a snapshot without its vectors, then close it. Raises the error that prevents it from being served."""
    _open_ports(collection, collection / "snapshots" / snapshot)


def open_files(collection: Path, snapshot: str) -> tuple[Manifest, IndexFiles, SnapshotPageStore]:
    """Open a snapshot without a ranker; return its manifest, what a ranker reads, and its page store.

    Raises SnapshotError if it is missing, damaged or of another version, or has what was removed since.
    """
    manifest, files, page_store = _open_files(collection, collection / "snapshots" / snapshot)
    refuse_stale(collection, manifest)
    return manifest, files, page_store


def _open_ports(collection: Path, folder: Path) -> tuple[Manifest, RankEngine, SnapshotPageStore]:
    """Return the manifest of a snapshot folder and its two ports. Raises SnapshotError."""
    manifest, files, page_store = _open_files(collection, folder)
    return manifest, RankEngine(files, Weights.from_manifest(manifest.weights)), page_store


def _open_files(collection: Path, folder: Path) -> tuple[Manifest, IndexFiles, SnapshotPageStore]:
    """Return the manifest of a snapshot folder, the files of its index, and its page store. Raises SnapshotError."""
    manifest = read_manifest(folder)
    if manifest.format != FORMAT:  # checked before any other file is opened: another format has other files
        raise SnapshotError(
            f"snapshot {folder.name} has format {manifest.format}, this version reads {FORMAT}",
            action="webemu snapshots build",
            location=str(folder),
        )
    check_contents(collection, manifest)
    index = open_index(folder / "text")
    # The dense id of a hit is the base of its segment plus its number in the segment.
    bases = compute_segment_bases(folder / "text", index.searcher(), list(manifest.segments), list(manifest.bases))
    records = [Blobs(collection / "shards" / shard / "records") for shard in manifest.shards]
    columns, duplicates = Columns(folder / "columns"), Duplicates(folder / DUPLICATES_FOLDER)
    files = IndexFiles(index, bases, records, list(manifest.bases), columns, duplicates)
    return manifest, files, SnapshotPageStore(folder, collection, manifest)


def _rankers_by_name(engine: RankEngine, folder: Path, manifest: Manifest) -> dict[str, Ranker]:
    """Return the rankers of a snapshot by name.

    `full` is the snapshot's own ranking, `plain` BM25 alone, `weak` BM25 of titles; vectors add `dense`, `hybrid` and
    perhaps `rerank`. If the vectors cannot be opened, a warning is logged and the lexical rankers remain.
    """
    rankers_by_name: dict[str, Ranker] = {
        "full": engine,
        "plain": engine.with_weights(FLAT_BM25),
        "weak": engine.with_weights(FLAT_BM25, "title"),
    }
    if manifest.dense is None:
        return rankers_by_name
    try:
        from webemu.index.dense.open import open_rankers  # needs the extra `dense`

        dense_rankers = open_rankers(folder, manifest, engine)
    except (ModuleNotFoundError, EmulatorError) as error:
        logging.getLogger(__name__).warning("snapshot %s is searched without its vectors: %s", manifest.id, error)
        return rankers_by_name
    return rankers_by_name | {str(name): ranker for name, ranker in dense_rankers.items() if name != "bm25"}


def open_world(collection: Path) -> World:
    """Open the snapshot that CURRENT names. Raises SnapshotError if there is none.

    world = open_world(Path("webemu-data/default"))
    captures = world.captures("https://example.org/")
    """
    snapshot = current_id(collection)
    if snapshot is None:
        raise SnapshotError(
            "the collection has no snapshot yet",
            action="webemu ingest SOURCE... --collection NAME builds one",
            location=str(collection),
        )
    return open_snapshot(collection, snapshot)
