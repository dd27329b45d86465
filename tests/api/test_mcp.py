"""MCP on the wire: handshakes of every version, tools and their arguments, resources, and what HTTP gets wrong."""

import json
from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import httpx
import pytest

from tests.api.conftest import Ask
from webemu.agent_client import tools as client_tools
from webemu.agent_client.responses import parse_find_answer, parse_page_answer, parse_search_answer
from webemu.api.mcp.versions import HANDSHAKE, META_MEMBERS
from webemu.emulator.session import OPENED_PREFIX

Golden = Callable[[str, Any], None]
MODERN = "2026-07-28"
PAGE, LOST_PAGE, LOST = "https://a.example/", "https://a.example/gone", "https://a.example/lost"


@pytest.fixture
def post(ask: Ask) -> Callable[..., httpx.Response]:
    """`post(message, path, **headers)` as clients post."""

    def post(message: Any, path: str = "/mcp", **headers: str) -> httpx.Response:
        request_headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        request_headers |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        return ask("POST", path, content=content, headers=request_headers)

    return post


Post = Callable[..., httpx.Response]


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def use(post: Post, tool: str, arguments: Any, path: str = "/mcp") -> dict[str, Any]:
    """The result of a tool call."""
    response = post(request("tools/call", name=tool, arguments=arguments), path)
    assert response.status_code == 200
    result: dict[str, Any] = response.json()["result"]
    return result


def text_of_call(post: Post, tool: str, arguments: Any, path: str = "/mcp") -> str:
    """The one text that a tool call gives."""
    content = use(post, tool, arguments, path)["content"]
    assert [one["type"] for one in content] == ["text"]
    return str(content[0]["text"])


@pytest.mark.parametrize(
    ("name", "path", "message"),
    [
        ("initialize", "/mcp", request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})),
        ("tools", "/mcp", request("tools/list")),
        ("tools_browse", "/mcp/browse", request("tools/list")),
        ("tools_documents", "/mcp/documents", request("tools/list")),
        ("search", "/mcp", request("tools/call", name="search", arguments={"query": "river port"})),
        ("fetch", "/mcp", request("tools/call", name="fetch", arguments={"id": PAGE})),
        ("absent", "/mcp", request("tools/call", name="fetch", arguments={"id": LOST_PAGE})),
        ("browse_search", "/mcp/browse", request("tools/call", name="search", arguments={"query": "a b c", "size": 2})),
        ("open", "/mcp/browse", request("tools/call", name="open", arguments={"url": PAGE, "lines": 2})),
        ("find", "/mcp/browse", request("tools/call", name="find", arguments={"url": PAGE, "pattern": "r"})),
        ("documents", "/mcp/documents", request("tools/call", name="search", arguments={"query": "port"})),
        ("document", "/mcp/documents", request("tools/call", name="get_document", arguments={"docid": PAGE})),
        ("no_document", "/mcp/documents", request("tools/call", name="get_document", arguments={"docid": LOST_PAGE})),
        ("templates", "/mcp", request("resources/templates/list")),
        ("resource", "/mcp", request("resources/read", uri=PAGE)),
    ],
)  # fmt: skip
def test_what_is_answered(post: Post, golden: Golden, name: str, path: str, message: dict[str, Any]) -> None:
    response = post(message, path)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-webemu-snapshot"] == "5d0c0ffee5d0c0ff"
    golden(f"mcp_{name}", json.loads(response.text.replace(f'"{installed("webemu")}"', '"VERSION"')))


@pytest.mark.parametrize("version", HANDSHAKE)
def test_every_version_with_a_handshake_is_spoken(post: Post, version: str) -> None:
    shaken = post(request("initialize", protocolVersion=version)).json()["result"]
    assert shaken["protocolVersion"] == version
    noted = post({"jsonrpc": "2.0", "method": "notifications/initialized"}, MCP_Protocol_Version=version)
    assert (noted.status_code, noted.content) == (202, b"")
    assert post(request("ping"), MCP_Protocol_Version=version).json()["result"] == {}


def test_of_an_unknown_version_the_latest_is_offered(post: Post) -> None:
    assert post(request("initialize", protocolVersion="1999-01-01")).json()["result"]["protocolVersion"] == "2025-11-25"
    refused = post(request("ping"), MCP_Protocol_Version="1999-01-01")
    assert refused.status_code == 400
    assert refused.json()["error"]["data"]["supported"] == [*HANDSHAKE, MODERN]


def modern(method: str, **params: Any) -> dict[str, Any]:
    return request(method, **params, _meta=dict(zip(META_MEMBERS, (MODERN, {}), strict=True)))


def test_without_a_handshake_each_request_says_who_asks(post: Post) -> None:
    headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "server/discover"}
    description = post(modern("server/discover"), **headers).json()["result"]
    assert (description["supportedVersions"][0], description["resultType"], description["ttlMs"]) == (
        MODERN,
        "complete",
        0,
    )
    assert description["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "web"
    headers |= {"Mcp_Method": "tools/call", "Mcp_Name": "=?base64?c2VhcmNo?="}
    called = post(modern("tools/call", name="search", arguments={"query": "port"}), **headers)
    assert called.json()["result"]["resultType"] == "complete"


@pytest.mark.parametrize(
    ("message", "method", "name", "status", "code"),
    [
        (request("server/discover"), "server/discover", "", 400, -32602),
        (modern("server/discover"), "tools/list", "", 400, -32020),
        (modern("tools/call", name="search"), "tools/call", "fetch", 400, -32020),
        (modern("ping"), "ping", "", 404, -32601),
        (modern("initialize"), "initialize", "", 404, -32601),
        (modern("resources/read", uri=LOST_PAGE), "resources/read", LOST_PAGE, 404, -32602),
        ([modern("tools/list")], "tools/list", "", 400, -32600),
    ],
)  # fmt: skip
def test_a_modern_request_that_does_not_fit(
    post: Post, message: Any, method: str, name: str, status: int, code: int
) -> None:
    headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": method, "Mcp_Name": name}
    refused = post(message, **headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)


def test_batches_are_answered_where_the_version_has_them(post: Post) -> None:
    batch = [request("ping") | {"id": "a"}, {"jsonrpc": "2.0", "method": "notifications/x"}, request("none"), 7]
    answers = post(batch).json()
    assert [(one["id"], one.get("error", {}).get("code")) for one in answers] == [
        ("a", None),
        (1, -32601),
        (None, -32600),
    ]
    assert post(batch[1:2]).status_code == 202
    assert post(batch, MCP_Protocol_Version="2025-06-18").status_code == 400
    assert [post([request("ping")] * count).status_code for count in (0, 257)] == [400, 400]


def test_events_are_for_clients_that_take_nothing_else(post: Post) -> None:
    plain = post(request("ping"))
    event = post(request("ping"), Accept="text/event-stream")
    assert event.headers["content-type"] == "text/event-stream"
    assert event.text == f"event: message\ndata: {plain.text}\n\n"
    assert post(request("ping"), Accept="*/*").headers["content-type"] == "application/json"
    assert post(request("ping"), Accept="text/html").status_code == 406


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"[" * 100_000, -32700),
        (b"7", -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": [1], "method": "ping", "params": []}', -32600),
    ],
)
def test_what_is_no_message(post: Post, content: bytes, code: int) -> None:
    refused = post(content)
    assert (refused.status_code, refused.json()["error"]["code"], refused.json()["id"]) == (400, code, None)


def test_what_http_gets_wrong(post: Post, ask: Ask) -> None:
    assert [ask(method, "/mcp").status_code for method in ("GET", "HEAD", "DELETE", "PUT")] == [405] * 4
    assert ask("GET", "/mcp").headers["allow"] == "POST"
    assert post(request("ping"), Content_Type="text/plain").status_code == 415
    assert post(request("ping"), path="/mcp/").status_code == 200
    assert post(request("ping"), path="/mcp/nothing").status_code == 404
    assert ask("GET", "/sse").status_code == 404


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example", "http://[", ""])
def test_pages_of_other_sites_may_not_ask(post: Post, ask: Ask, origin: str) -> None:
    assert post(request("ping"), Origin=origin).status_code == 403
    assert ask("OPTIONS", "/mcp", headers={"Origin": origin}).status_code == 403


@pytest.mark.parametrize("origin", ["http://localhost:6274", "http://127.0.0.1:8800", "http://[::1]:9"])
def test_pages_of_this_machine_may(post: Post, ask: Ask, origin: str) -> None:
    assert post(request("ping"), Origin=origin).headers["access-control-allow-origin"] == origin
    assert ask("OPTIONS", "/mcp", headers={"Origin": origin}).headers["access-control-allow-methods"] == "POST, OPTIONS"


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ["river port"]},
        {"q": "river port"},
        {"queries": ["river port"], "reason": "curious"},
        {"text": "other words", "query": "river port"},
        '{"query": "river port"}',
        "river port",
    ],
)
def test_what_models_get_wrong_is_understood(post: Post, arguments: Any) -> None:
    assert text_of_call(post, "search", arguments) == text_of_call(post, "search", {"query": "river port"})


def test_numbers_are_read_as_they_are_meant(post: Post) -> None:
    def search_text(**arguments: Any) -> str:
        return text_of_call(post, "search", {"query": "a b c d", **arguments}, "/mcp/browse")

    assert search_text(page="2", size=["2"]) == search_text(page=2.0, size=2)
    assert search_text(page=0, size=-5) == search_text(page=1, size=1)
    assert search_text(size=10**12) == search_text(size=50)


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("search", {}, "search needs query: call it as search(query, [page], [size])."),
        ("search", None, "search needs query: call it as search(query, [page], [size])."),
        ("search", [], "the arguments must be a JSON object: call it as search(query, [page], [size])."),
        ("search", {"query": ["a", "b"]}, "query must be one string: call it as search(query, [page], [size])."),
        ("search", {"query": "a", "page": "x"}, "page must be one integer: call it as search(query, [page], [size])."),
        ("search", {"query": "a", "page": True}, "page must be one integer: call it as search(query, [page], [size])."),
        ("open", {"url": "https://a.example/a.png"}, "This page has no text: it is a picture or another file."),
        ("open", {"url": "https://a.example/gone"}, "This page does not exist. Search for another one."),
        ("open", {"url": "https://a.example/", "format": "pdf"}, "format must be one of text, markdown, links: call it "
         "as open(url, [format], [start], [line], [lines])."),
    ],
)  # fmt: skip
def test_what_cannot_be_understood_teaches(post: Post, tool: str, arguments: Any, text: str) -> None:
    result = use(post, tool, arguments, "/mcp/browse")
    assert (result["isError"], result["content"], "structuredContent" in result) == (
        True,
        [{"type": "text", "text": text}],
        False,
    )


def test_an_unknown_tool_or_resource_is_a_protocol_error(post: Post) -> None:
    refused = post(request("tools/call", name="click"))
    assert refused.status_code == 200
    assert refused.json()["error"]["message"] == "there is no tool 'click'; the tools are: search, fetch"
    error = post(request("resources/read", uri=LOST_PAGE)).json()["error"]
    assert (error["code"], list(error["data"])) == (-32002, ["uri"])
    assert post(request("resources/read", uri="file:///etc/passwd")).json()["error"]["code"] == -32602


def test_a_failure_of_ours_is_no_result(post: Post) -> None:
    failed = post(request("tools/call", name="search", arguments={"query": "defect"}))
    assert (failed.status_code, failed.headers["x-webemu-failure"]) == (500, "infrastructure")
    assert failed.json()["error"]["data"] == {"reason": "internal-error", "failure": "infrastructure"}
    lost = post(request("tools/call", name="fetch", arguments={"id": LOST}))
    assert (lost.status_code, lost.json()["error"]["data"]["reason"]) == (502, "payload-missing")
    batch = post([request("ping"), request("tools/call", name="search", arguments={"query": "defect"})])
    assert (batch.status_code, batch.headers["x-webemu-failure"]) == (200, "infrastructure")


def test_a_lone_surrogate_in_a_query_is_no_json(post: Post) -> None:
    content = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"\\ud83d"}}}'
    )
    answer = post(content, "/mcp/browse")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)


def test_the_session_of_a_header_holds(post: Post) -> None:
    call = request("tools/call", name="search", arguments={"query": "port"})
    assert post(call, X_Webemu_Session="r1;at=2024-01-31").status_code == 200
    assert post(call, X_Webemu_Session="r1;at=soon").status_code == 400


def test_a_session_that_nobody_opened_is_an_error_for_the_host(post: Post) -> None:
    call = request("tools/call", name="search", arguments={"query": "port"})
    refused = post(call, X_Webemu_Session=f"{OPENED_PREFIX}nobody")
    assert (refused.status_code, refused.json()["id"]) == (401, 1)
    assert refused.json()["error"]["data"] == {"reason": "bad-key"}
    assert post(request("tools/list"), X_Webemu_Session=f"{OPENED_PREFIX}nobody").status_code == 200


def test_the_text_is_that_of_the_client(post: Post, ask: Ask) -> None:
    url = PAGE
    answer = parse_search_answer(ask("GET", "/v1/search?q=a+b+c&size=2").json())
    assert text_of_call(post, "search", {"query": "a b c", "size": 2}, "/mcp/browse") == client_tools.format_results(
        answer
    )
    page = parse_page_answer(ask("GET", f"/v1/fetch?url={url}&start=10&length=10000").json())
    assert text_of_call(post, "open", {"url": url, "start": 10}, "/mcp/browse") == client_tools.format_page(page)
    places = parse_find_answer(ask("GET", f"/v1/find?url={url}&pattern=r").json())
    assert text_of_call(post, "find", {"url": url, "pattern": "r"}, "/mcp/browse") == client_tools.format_matches(
        places
    )
