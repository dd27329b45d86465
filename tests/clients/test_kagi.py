"""Kagi as its documentation's examples call it, by name through the proxy."""

import re

import httpx

from tests.clients.conftest import LEXICON, Server

SEARCH = "https://kagi.com/api/v0/search"
FASTGPT, SUMMARIZE = "https://kagi.com/api/v0/fastgpt", "https://kagi.com/api/v0/summarize"


def search_kagi(query: str, token: str = "any") -> httpx.Response:
    return httpx.get(SEARCH, params={"q": query, "limit": 4}, headers={"Authorization": f"Bot {token}"}, timeout=60)


def test_results(web: Server) -> None:
    *results, related = search_kagi("town river").json()["data"]
    assert [one["rank"] for one in results] == [1, 2, 3, 4]
    assert all(one["t"] == 0 and one["title"] and one["snippet"] and one["published"] for one in results)
    assert related["t"] == 1
    assert all(isinstance(one, str) for one in related["list"])
    assert search_kagi("town river").content == search_kagi("town river").content


def test_nothing_found(web: Server) -> None:
    assert search_kagi("zzyzzyx").json()["data"] == []


def test_errors(keyed: Server) -> None:
    assert search_kagi("town", "good").status_code == 200
    refused = search_kagi("town", "bad")
    assert (refused.status_code, refused.json()["error"]) == (401, [{"code": 2, "msg": "Unauthorized", "ref": None}])
    assert search_kagi("", "good").json()["error"][0]["code"] == 1


def test_fastgpt_says_what_its_references_say(web: Server) -> None:
    headers = {"Authorization": "Bot any"}
    answer = httpx.post(FASTGPT, json={"query": "town river"}, headers=headers, timeout=60).json()["data"]
    assert len(answer["references"]) == 5
    assert answer["tokens"] == len(answer["output"].split())
    for number, reference in enumerate(answer["references"], 1):
        sentence = re.search(rf"(?:^|\] )([^\[\]]+) \[{number}\]", answer["output"])
        assert sentence is not None
        assert sentence[1] in " ".join(reference["snippet"].split())
    nothing = httpx.post(FASTGPT, json={"query": "zzyzzyx"}, headers=headers, timeout=60).json()["data"]
    assert nothing == {"output": "", "tokens": 0, "references": []}


def test_summaries_are_sentences_of_the_page(web: Server) -> None:
    headers = {"Authorization": "Bot any"}
    summary = httpx.get(SUMMARIZE, params={"url": LEXICON}, headers=headers, timeout=60).json()["data"]["output"]
    assert "OpenLexicon" in summary
    assert len(summary) <= 600
    text = "The mill burned down. It was rebuilt in 1911."
    assert httpx.post(SUMMARIZE, json={"text": text}, headers=headers, timeout=60).json()["data"]["output"] == text
    missing = httpx.get(SUMMARIZE, params={"url": f"{LEXICON}x"}, headers=headers, timeout=60)
    assert (missing.status_code, missing.json()["data"]) == (404, None)
    assert httpx.get(SUMMARIZE, headers=headers, timeout=60).status_code == 400
