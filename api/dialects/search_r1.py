"""Search-R1's retrieval server, its rerankers, and the variants of both in trainers: `/retrieve` and `/rerank`.

One format serves all: a document has `id`, `url`, `title`, `text` and `contents` (title in quotes, line break, text).
With `return_scores` it is the member `document` beside its score, otherwise it stands alone.
"""

from __future__ import annotations

from collections.abc import Callable

from webemu.api.dialects.dialect import Dialect, Route, build_response, get_flag, get_number, read_params
from webemu.api.dialects.retrieval import MAX_RESULTS, missing_error, render_document, render_error
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.api.services.native import FREE_RESULTS, check_further_results
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import Query
from webemu.emulator.world import World

DEFAULT_TOPK = 3
"""Results per query by default."""
DEFAULT_RETRIEVED = 10
"""Results that the reranking server retrieves by default."""
MAX_QUERIES = 16_384
"""Most queries of one request."""
_PATHS = ("/retrieve", "/rerank")

RenderEntry = Callable[[dict[str, str], float], object]
"""Turns a document and its score into an entry of the response."""


def answer_retrieve(world: World, request: Request) -> Response:
    """Answer `/retrieve`: one list of documents per query, in order. Equal queries are searched once.

    The request is `{"queries": [...]}`, or SkyRL's `{"query": "..."}`.
    """
    params = read_params(request)
    queries, count, render_entry = _read_queries(params), _read_result_count(params), _choose_entry_format(params)
    distinct = list(dict.fromkeys(queries))
    check_further_results(len(distinct) * max(0, count - FREE_RESULTS))
    passages_by_query = world.batch_search_passages(
        [Query(query, 1, count, request.session.at_time) for query in distinct]
    )
    entries_by_query = [
        [render_entry(render_document(hit, passage), hit.score) for hit, passage in passages]
        for passages in passages_by_query
    ]
    entries_of = dict(zip(distinct, entries_by_query, strict=True))
    return build_response({"result": [entries_of[query] for query in queries]})


def _read_queries(params: dict[str, object]) -> list[str]:
    """Return the queries. One text counts as a list of one: models write that, and trainers pass it on.

    Raises: BadRequest if they are missing, not texts, or too many.
    """
    queries = params.get("queries", params.get("query"))
    if queries is None:
        raise missing_error("queries")
    if isinstance(queries, str):
        return [queries]
    if not isinstance(queries, list) or not all(isinstance(one, str) for one in queries):
        raise BadRequest("Input should be a list of strings", reason="bad-queries")
    if len(queries) > MAX_QUERIES:
        raise BadRequest(f"List should have at most {MAX_QUERIES} items", reason="bad-queries")
    return queries


def _is_for_reranker(params: dict[str, object]) -> bool:
    """True if the request is meant for `retrieval_rerank_server.py`."""
    return "topk_retrieval" in params or "topk_rerank" in params


def _read_result_count(params: dict[str, object]) -> int:
    """Return the number of results per query. 0 means the default."""
    # The original treats 0 as missing.
    if not _is_for_reranker(params):
        return get_number(params, "topk", DEFAULT_TOPK, 0, MAX_RESULTS) or DEFAULT_TOPK
    retrieved_count = get_number(params, "topk_retrieval", DEFAULT_RETRIEVED, 0, MAX_RESULTS) or DEFAULT_RETRIEVED
    return min(retrieved_count, get_number(params, "topk_rerank", DEFAULT_TOPK, 0, MAX_RESULTS) or DEFAULT_TOPK)


def _choose_entry_format(params: dict[str, object]) -> RenderEntry:
    """Return the format of entries; the reranking server's document is only its `contents`."""
    with_scores, is_for_reranker = get_flag(params, "return_scores"), _is_for_reranker(params)

    def render_entry(passage: dict[str, str], score: float) -> object:
        shown_document = passage["contents"] if is_for_reranker else passage
        return {"document": shown_document, "score": score} if with_scores else shown_document

    return render_entry


def answer_rerank(world: World, request: Request) -> Response:
    """Answer `/rerank` with the documents of each query, best first, as `(Title: "T") text`.

    Raises: BadRequest if queries and documents do not match.
    """
    params = read_params(request)
    queries, documents = _read_queries(params), params.get("documents")
    if documents is None:
        raise missing_error("documents")
    if not isinstance(documents, list) or not all(isinstance(one, list) for one in documents):
        raise BadRequest("Input should be a list of lists", reason="bad-documents")
    if len(documents) != len(queries):
        raise BadRequest("List should have as many items as queries has", reason="bad-documents")
    count, with_scores = (
        get_number(params, "rerank_topk", DEFAULT_TOPK, 0, MAX_RESULTS) or DEFAULT_TOPK,
        get_flag(params, "return_scores"),
    )
    pairs = zip(queries, documents, strict=True)
    return build_response(
        {
            "result": [
                _rank_texts(world, query, list(map(_format_document, query_documents)), count, with_scores)
                for query, query_documents in pairs
            ]
        }
    )


def _rank_texts(world: World, query: str, texts: list[str], count: int, with_scores: bool) -> list[object]:
    """Return the best `count` texts, with their scores if asked for; ties keep their order."""
    scores = world.score_texts(query, texts)
    order = sorted(range(len(texts)), key=lambda index: (-scores[index], index))[:count]
    return [{"document": texts[index], "score": scores[index]} if with_scores else texts[index] for index in order]


def _format_document(entry: object) -> str:
    """Return a document in the reranker's format. Raises BadRequest if it has no `contents`."""
    inner = entry.get("document", entry) if isinstance(entry, dict) else entry
    contents = inner.get("contents") if isinstance(inner, dict) else inner
    if not isinstance(contents, str):
        raise BadRequest("Each document has contents", reason="bad-documents")
    title, _, text = contents.partition("\n")
    return f"(Title: {title}) {text}"


DIALECT = Dialect(
    "search-r1",
    "Search-R1",
    (),
    (Route(("POST",), "/retrieve", answer_retrieve, True), Route(("POST",), "/rerank", answer_rerank)),
    None,
    render_error,
    "`retriever.url`, `retrieval_service_url`, `search_url`, `retrieval_server_url`: `http://127.0.0.1:8800/retrieve`",
    ("verl's `search_r1_like_utils`", "skyrl-gym's `SearchToolGroup`"),
    lambda request: request.path in _PATHS,
)
