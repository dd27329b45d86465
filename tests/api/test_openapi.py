"""The OpenAPI document describes every route, and schemathesis asks a real server what it describes."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from tests.crawls import CaptureSpec, html, ingest, write
from tests.shared import cases
from webemu.api.archives.routes import PATHS
from webemu.api.dialects import DIALECTS
from webemu.api.mcp.endpoint import TOOLSETS_BY_PATH
from webemu.api.pages import PAGES
from webemu.api.services.openapi import ROUTES, build_document
from webemu.api.services.path_templates import list_path_templates
from webemu.api.services.trainer_side import TRAINER_PATHS

SITE = "https://a.example/"
CAPTURES = [CaptureSpec(SITE, html("Harbour", "ships of the harbour")), CaptureSpec(f"{SITE}two", html("Two", "ships"))]
CRAWL_REASONS = {"host-not-captured", "url-not-captured", "no-such-view", "page-refused", "payload-undecodable"}
"""Reasons of a 5xx with which a service says that it cannot read a page, as the real one does."""


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("openapi")
    ingest(root / "default", write(root / "a.warc.gz", CAPTURES))
    command = [sys.executable, "-m", "webemu.emulator.cli", "serve", "--root", str(root), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().partition("http://127.0.0.1:")[2].partition(" ")[0])
        yield f"http://127.0.0.1:{port}"
        process.terminate()


@pytest.mark.parametrize(
    ("pattern", "templates"),
    [
        (r"/v[12]/crawl/[^/]+", ["/v1/crawl/{value}", "/v2/crawl/{value}"]),
        (r"/search(\.json)?", ["/search.json", "/search"]),
        ("/html/?", ["/html"]),
        ("(?s:/.*)", ["/{value}"]),
        ("/search;[^/]*", ["/search;{value}"]),
    ],
)
def test_a_pattern_becomes_templates(pattern: str, templates: list[str]) -> None:
    assert list_path_templates(pattern) == templates


def test_every_route_is_described() -> None:
    document: Any = build_document()
    fillings = ("x", "20240101000000", "2024-01")
    texts = {path: [re.sub(r"\{\w+\}", filling, path) for filling in fillings] for path in document["paths"]}
    for dialect in DIALECTS:
        below = {path: some for path, some in texts.items() if path.startswith(f"/{dialect.name}")}
        for route in dialect.routes:
            pattern = re.compile(f"/{dialect.name}(?:{route.path})".replace("(?:(?s:", "(?s:(?:"))
            paths = [path for path, some in below.items() if any(map(pattern.fullmatch, (*some, f"{path}/")))]
            described = {method for path in paths for method in document["paths"][path]}
            assert {method.lower() for method in route.methods} <= described, route.path
    for pattern, _ in (*PATHS, *PAGES):
        is_described = any(pattern.fullmatch(text) for some in texts.values() for text in some)
        assert is_described or pattern.pattern == r"/favicon\.ico"
    assert {f"/mcp{path}" for path in TOOLSETS_BY_PATH} <= set(texts)
    assert {route.path for route in ROUTES} | TRAINER_PATHS <= set(texts)


def test_operations_are_in_groups_that_are_explained() -> None:
    document: Any = build_document()
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert {tag for operation in operations for tag in operation["tags"]} == {tag["name"] for tag in document["tags"]}


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_what_is_described_is_what_is_answered(origin: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_url(f"{origin}/openapi.json")
    session = requests.Session()
    request_count = 0
    for result in schema.get_all_operations():
        operation = result.ok()

        @settings(
            max_examples=cases(2, 8),
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: schemathesis.Case) -> None:
            nonlocal request_count
            request_count += 1
            response = case.call(base_url=origin, session=session, timeout=60)
            case.validate_response(response, checks=[status_code_conformance, response_schema_conformance])
            reason = response.headers.get("x-webemu-reason", [""])[0]
            assert response.status_code < 500 or reason in CRAWL_REASONS, case.as_curl_command()

        try:
            ask()
        except Unsatisfiable:  # nothing that is wrong can be made of an operation without rules
            assert mode is GenerationMode.NEGATIVE
    assert request_count > (200 if mode is GenerationMode.POSITIVE else 100)
    assert session.get(f"{origin}/health", timeout=60).ok
