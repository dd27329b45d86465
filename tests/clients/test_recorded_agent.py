"""A LangChain agent with a scripted model: recorded against live-like sites, then repeated sealed."""

import sys
from pathlib import Path

import pytest

from tests.recorder.recorded_runs import ingest_recordings, lead_to_sites, record, replay
from tests.recorder.sites import Site
from tests.sealed_runs import needs_network

pytest.importorskip("langchain_community")
AGENT = """
from langchain_community.tools.requests.tool import RequestsGetTool
from langchain_community.utilities import GoogleSerperAPIWrapper, TextRequestsWrapper
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import Tool

search = Tool("search", GoogleSerperAPIWrapper(serper_api_key="secret").run, "Search the web.")
read = RequestsGetTool(requests_wrapper=TextRequestsWrapper(), allow_dangerous_requests=True)
def call(name, text):
    return AIMessage("", tool_calls=[{"name": name, "args": {"__arg1": text}, "id": text}])
turns = [call("search", "oolong"), call("read", "https://shop.example/page"), call("read", "https://shop.example/now"),
         call("search", "oolong"), call("read", "https://shop.example/now"), AIMessage("12 crowns")]
model, messages = FakeMessagesListChatModel(responses=turns), [HumanMessage("What does oolong cost?")]
while (turn := model.invoke(messages)).tool_calls:
    messages.append(turn)
    for one in turn.tool_calls:
        tool, argument = {"search": search, "read": read}[one["name"]], one["args"]["__arg1"]
        messages.append(ToolMessage(tool.run(argument), tool_call_id=one["id"]))
        print(messages[-1].content)
print(turn.content)
"""


@needs_network
def test_a_langchain_agent_is_repeated_sealed(tmp_path: Path) -> None:
    with lead_to_sites(tmp_path / "live") as options:
        live = record(tmp_path, options, "--", sys.executable, "-W", "ignore", "-c", AGENT)
        assert live.returncode == 0, live.stderr
        assert live.stdout.count("oolong costs 12 crowns") == 1
        assert len(set(live.stdout.split("visit ")[1:])) == 2
        ingest_recordings(tmp_path)
        requests_before = len(Site.requests)
        sealed = replay(tmp_path, sys.executable, "-W", "ignore", "-c", AGENT)
        assert (sealed.stdout, len(Site.requests)) == (live.stdout, requests_before), sealed.stderr
