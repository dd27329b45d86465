"""Search-R1's retrieval server, its rerankers, and the variants of both that trainers bring: `/retrieve` and `/rerank`.

One shape serves all: a document always has `id`, `url`, `title`, `text` and `contents` (title in quotes, new line,
text); with `return_scores` it is below `document` beside its score, without it stands alone.
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
RETRIEVED = 10
"""How many the server that reranks takes from the search."""
MOST_QUERIES = 16_384
_PATHS = ("/retrieve", "/rerank")

Shape = Callable[[dict[str, Any], float], Any]


def retrieve(world: World, request: Request) -> Reply:
    """`{"queries": [...]}`, or SkyRL's `{"query": "..."}`; one list of documents per query, in order."""
    asked = fields(request)
    queries, top, shape = _queries(asked), _top(asked), _shape(asked)
    distinct = list(dict.fromkeys(queries))
    found = world.passages([Query(query, 1, top, request.session.at) for query in distinct])
    told = [[shape(document(hit, passage), hit.score) for hit, passage in passages] for passages in found]
    of = dict(zip(distinct, told, strict=True))
    return reply({"result": [of[query] for query in queries]})


def _queries(asked: dict[str, Any]) -> list[str]:
    """Models write one text where a list is due, and trainers pass it on."""
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
    """Whether it is meant for `retrieval_rerank_server.py`."""
    return "topk_retrieval" in asked or "topk_rerank" in asked


def _top(asked: dict[str, Any]) -> int:
    if not _reranks(asked):
        return number(asked, "topk", TOPK, 0, MOST) or TOPK
    retrieved = number(asked, "topk_retrieval", RETRIEVED, 0, MOST) or RETRIEVED
    return min(retrieved, number(asked, "topk_rerank", TOPK, 0, MOST) or TOPK)


def _shape(asked: dict[str, Any]) -> Shape:
    """How a document is told: that of the server that reranks is a text."""
    scored, reranks = flag(asked, "return_scores"), _reranks(asked)

    def shape(found: dict[str, Any], score: float) -> Any:
        told = found["contents"] if reranks else found
        return {"document": told, "score": score} if scored else told

    return shape


def rerank(world: World, request: Request) -> Reply:
    """`{"queries", "documents"}`: the documents of each query, the best first, as `(Title: "T") text`."""
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
    scores = world.relevance(query, texts)
    order = sorted(range(len(texts)), key=lambda place: (-scores[place], place))[:top]
    return [{"document": texts[place], "score": scores[place]} if scored else texts[place] for place in order]


def _titled(given: Any) -> str:
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
