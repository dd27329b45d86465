"""A retrieval server like Search-R1's: FastAPI, `POST /retrieve`, with one of the engines.

    PYTHON -m benchmarks.peers.retrieve ENGINE CORPUS INDEX_FOLDER PORT

It is run by the Python of the engine's own environment, so it imports nothing of webemu but the engine. ENGINE is
bm25, bm25-numba, lucene or fts5. The index is built first if it is missing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.peers.passages import Engine

ENGINES = {"bm25": "bm25:Bm25", "bm25-numba": "bm25:Bm25Numba", "lucene": "lucene:Lucene", "fts5": "fts5:Fts5"}
"""Module and class of each engine."""
TOPK = 3
"""Results per query if the request does not say."""


class RetrieveRequest(BaseModel):
    """Body of a request, as trainers send it."""

    queries: list[str]
    topk: int | None = None
    return_scores: bool = False


def create_app(engine: Engine) -> FastAPI:
    """Return the application. Its routes are `def`, as in Search-R1, so that each request runs in a thread."""
    app = FastAPI()

    @app.post("/retrieve")
    def retrieve(request: RetrieveRequest) -> dict[str, list[object]]:
        ranked_passages = engine.search(request.queries, request.topk or TOPK)
        if request.return_scores:
            return {
                "result": [
                    [{"document": document, "score": score} for document, score in hits] for hits in ranked_passages
                ]
            }
        return {"result": [[document for document, _ in hits] for hits in ranked_passages]}

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    return app


def main(name: str, corpus: Path, folder: Path, port: int) -> None:
    """Serve an engine on the port."""
    module, _, engine = ENGINES[name].partition(":")
    engine_instance = getattr(import_module(f"benchmarks.peers.{module}"), engine)(corpus, folder)
    uvicorn.run(create_app(engine_instance), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
