"""`valyu`, by its base URL."""

import pytest

from tests.clients.conftest import LEXICON, Server

valyu = pytest.importorskip("valyu", reason="valyu is not installed")


def make_client(server: Server, key: str = "any") -> "valyu.Valyu":
    return valyu.Valyu(key, base_url=f"{server.url}/valyu/v1")


def test_search(server: Server) -> None:
    answer = make_client(server).search("town river", max_num_results=5)
    assert answer.success
    assert len({one.url for one in answer.results}) == 5
    assert all(one.title and one.content and one.source == "web" for one in answer.results)
    assert answer.results_by_source.web == 5


def test_sites(server: Server) -> None:
    answer = make_client(server).search("museum", included_sources=["en.openlexicon.org"])
    assert {one.url.split("/")[2] for one in answer.results} == {"en.openlexicon.org"}


def test_nothing_found(server: Server) -> None:
    answer = make_client(server).search("zzyzzyx")
    assert (answer.success, answer.results, answer.error or "") == (True, [], "")


def test_contents(server: Server) -> None:
    answer = make_client(server).contents([LEXICON, "https://nowhere.invalid/"])
    assert [one.status for one in answer.results] == ["success", "failed"]
    assert answer.results[0].content
    assert (answer.urls_processed, answer.urls_failed) == (1, 1)


def test_a_bad_key(keyed_server: Server) -> None:
    answer = make_client(keyed_server, "bad").search("town")
    assert (answer.success, answer.error) == (False, "Invalid API key")
