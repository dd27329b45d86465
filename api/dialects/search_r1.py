"""Search-R1's retrieval server, its rerankers, and the variants of both in trainers: `/retrieve` and `/rerank`.

One format serves all: a document has `id`, `url`, `title`, `text` and `contents` (title in quotes, line break, text).
With `return_scores` it is the member `document` beside its score, otherwise it stands alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webemu.api.dialects.dialect import Dialect, Route, fields, flag, number, reply
from webemu.api.dialects.retrieval import MOST, document, missing, refuse
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import Query
from webemu.emulator.world import World

TOPK = 3
"""Results per query by default."""
RETRIEVED = 10
"""Results that the reranking server retrieves by default."""
MOST_QUERIES = 16_384
"""Most queries of one request."""
_PATHS = ("/retrieve", "/rerank")

Shape = Callable[[dict[str, Any], float], Any]
"""Turns a document and its score into an entry of the response."""


def retrieve(world: World, request: Request) -> Reply:
    """Answer `/retrieve`: one list of documents per query, in order. Equal queries are searched once.

    The request is `{"queries": [...]}`, or SkyRL's `{"query": "..."}`.
    """
    asked = fields(request)
    queries, top, shape = _queries(asked), _top(asked), _shape(asked)
    distinct = list(dict.fromkeys(queries))
    found = world.passages([Query(query, 1, top, request.session.at) for query in distinct])
    told = [[shape(document(hit, passage), hit.score) for hit, passage in passages] for passages in found]
    of = dict(zip(distinct, told, strict=True))
    return reply({"result": [of[query] for query in queries]})


def _queries(asked: dict[str, Any]) -> list[str]:
    """Return the queries. One text counts as a list of one: models write that, and trainers pass it on.

    Raises: BadRequest if they are missing, not texts, or too many.
    """
    queries = asked.get("queries", asked.get("query"))
    if queries is None:
        raise missing("queries")
    if isinstance(queries, str):
        return [queries]
    if not isinstance(queries, list) or not all(isinstance(one, str) for one in queries):
        raise BadRequest("Input should be a list of strings", reason="bad-queries")
    if len(queries) > MOST_QUERIES:
        raise BadRequest(f"List should have at most {MOST_QUERIES} items", reason="bad-queries")
    return queries


def _reranks(asked: dict[str, Any]) -> bool:
    """True if the request is meant for `retrieval_rerank_server.py`."""
    return "topk_retrieval" in asked or "topk_rerank" in asked


def _top(asked: dict[str, Any]) -> int:
    """Return the number of results per query. 0 means the default."""
    # The original treats 0 as missing.
    if not _reranks(asked):
        return number(asked, "topk", TOPK, 0, MOST) or TOPK
    retrieved = number(asked, "topk_retrieval", RETRIEVED, 0, MOST) or RETRIEVED
    return min(retrieved, number(asked, "topk_rerank", TOPK, 0, MOST) or TOPK)


def _shape(asked: dict[str, Any]) -> Shape:
    """Return the format of entries; the reranking server's document is only its `contents`."""
    scored, reranks = flag(asked, "return_scores"), _reranks(asked)

    def shape(found: dict[str, Any], score: float) -> Any:
        told = found["contents"] if reranks else found
        return {"document": told, "score": score} if scored else told

    return shape


def rerank(world: World, request: Request) -> Reply:
    """Answer `/rerank` with the documents of each query, best first, as `(Title: "T") text`.

    Raises: BadRequest if queries and documents do not match.
    """
    asked = fields(request)
    queries, documents = _queries(asked), asked.get("documents")
    if documents is None:
        raise missing("documents")
    if not isinstance(documents, list) or not all(isinstance(one, list) for one in documents):
        raise BadRequest("Input should be a list of lists", reason="bad-documents")
    if len(documents) != len(queries):
        raise BadRequest("List should have as many items as queries has", reason="bad-documents")
    top, scored = number(asked, "rerank_topk", TOPK, 0, MOST) or TOPK, flag(asked, "return_scores")
    pairs = zip(queries, documents, strict=True)
    return reply(
        {"result": [_ranked(world, query, list(map(_titled, of_query)), top, scored) for query, of_query in pairs]}
    )


def _ranked(world: World, query: str, texts: list[str], top: int, scored: bool) -> list[Any]:
    """Return the best `count` texts, with their scores if asked for; ties keep their order."""
    scores = world.relevance(query, texts)
    order = sorted(range(len(texts)), key=lambda place: (-scores[place], place))[:top]
    return [{"document": texts[place], "score": scores[place]} if scored else texts[place] for place in order]


def _titled(given: Any) -> str:
    """Return a document in the reranker's format. Raises BadRequest if it has no `contents`."""
    inner = given.get("document", given) if isinstance(given, dict) else given
    contents = inner.get("contents") if isinstance(inner, dict) else inner
    if not isinstance(contents, str):
        raise BadRequest("Each document has contents", reason="bad-documents")
    title, _, text = contents.partition("\n")
    return f"(Title: {title}) {text}"


DIALECT = Dialect(
    "search-r1",
    "Search-R1",
    (),
    (Route(("POST",), "/retrieve", retrieve, True), Route(("POST",), "/rerank", rerank)),
    None,
    refuse,
    "`retriever.url`, `retrieval_service_url`, `search_url`, `retrieval_server_url`: `http://127.0.0.1:8800/retrieve`",
    ("verl's `search_r1_like_utils`", "skyrl-gym's `SearchToolGroup`"),
    lambda request: request.path in _PATHS,
)
