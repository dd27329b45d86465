"""`zai-sdk`, by its base URL."""

import pytest

from tests.clients.conftest import Server

zai = pytest.importorskip("zai", reason="zai-sdk is not installed")


def make_client(server: Server, key: str = "any.key") -> "zai.ZhipuAiClient":
    return zai.ZhipuAiClient(api_key=key, base_url=f"{server.url}/zhipu/api/paas/v4", max_retries=0)


def test_search(server: Server) -> None:
    answer = make_client(server).web_search.web_search(search_engine="search_pro", search_query="town river", count=5)
    results = answer.search_result
    assert len(results) == 5
    assert [one.refer for one in results] == [f"ref_{rank}" for rank in range(1, 6)]
    assert all(one.title and one.link.startswith("http") and one.content and one.publish_date for one in results)


def test_nothing_found(server: Server) -> None:
    answer = make_client(server).web_search.web_search(search_engine="search_std", search_query="zzyzzyx")
    assert answer.search_result == []


def test_refusals(server: Server, keyed_server: Server) -> None:
    with pytest.raises(zai.core.APIRequestFailedError):
        make_client(server).web_search.web_search(search_engine="search_std", search_query="")
    with pytest.raises(zai.core.APIAuthenticationError):
        make_client(keyed_server, "bad.key").web_search.web_search(search_engine="search_std", search_query="town")
