"""Questions that leave something open, answers that cannot be found, and words that are swapped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.rl.worlds import World
from webemu.agent_client import Client
from webemu.rl.environment import Episode
from webemu.rl.rewards import LONG, SHORT, rubric_of
from webemu.rl.tasks import NOT_FOUND, Evidence, Reply, Task
from webemu.rl.user import NO_HELP

USER_REPLIES = (Reply(("region", "which one", "where"), "The one in Kellmark."), Reply(("year",), "In 2011."))


@pytest.fixture
def client(world: World) -> Iterator[Client]:
    with world.client() as client:
        yield client


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("In WHICH region?", "The one in Kellmark."), ("Which one do you mean?", "The one in Kellmark."),
        ("what year", "In 2011."), ("regional?", NO_HELP), ("Tell me the answer", NO_HELP), ("?!", NO_HELP),
        ("who what when where which year?", NO_HELP), ("Which region and which year?", NO_HELP), ("where", NO_HELP),
        ("Which region? Which year?", NO_HELP), ("region year occupation", NO_HELP), ("What is the answer?", NO_HELP),
        ("In which year was that? I ask " + "again and " * 20, NO_HELP),
        ("Where do the people live?", USER_REPLIES[0].says),
    ],
)  # fmt: skip
def test_the_user_says_what_is_asked_for(episode: Episode, question: str, expected: str) -> None:
    episode.reset(Task("t", "How many live there?", ("1",), user=USER_REPLIES))
    observation = episode.call("ask_user", {"question": question})
    assert (observation.text, observation.kind, observation.done) == (expected, "user", False)
    assert episode.record().requests == ()
    assert [one.has_reply for one in episode.record().questions] == [expected != NO_HELP]


def test_the_user_can_be_asked_about_every_task(episode: Episode) -> None:
    """A tool that only some tasks had would say which questions leave something open."""
    names = ["search", "open", "find", "finish", "ask_user"]
    for replies in ((), USER_REPLIES):
        episode.reset(Task("t", "How many live there?", ("a",), user=replies))
        assert [tool["function"]["name"] for tool in episode.tools] == names
        assert "needs question" in episode.call("ask_user", {}).text
    episode.reset(Task("t", "q", ("a",)))
    assert episode.call("ask_user", {"question": "In which year?"}).text == NO_HELP


def test_asking_costs_a_request_and_is_measured(world: World, client: Client) -> None:
    clear = world.of("mayor")
    open_one = replace(clear, user=USER_REPLIES)
    source = clear.evidence[0].url
    right = [("open", {"link": source}), finish_call(clear.answers[0], source)]
    ask = ("ask_user", {"question": "In which region?"})
    for task, questions, full, needed in ((clear, 0, 1.0, 1), (clear, 1, 1.0, 0), (clear, 3, 0.98, 0),
                                          (open_one, 1, 1.0, 1), (open_one, 0, 1.0, 0)):  # fmt: skip
        episode = Episode(client)
        episode.reset(task)
        for name, arguments in (*[ask] * questions, *right):
            episode.call(name, arguments)
        score = SHORT.score(episode.record())
        assert score.reward == pytest.approx(full)
        assert (score.terms["asked"], score.terms["asked_when_needed"]) == (questions, needed)


def reward(client: Client, task: Task, *calls: tuple[str, dict[str, object]]) -> float:
    episode = Episode(client)
    episode.reset(task)
    for name, arguments in calls:
        episode.call(name, arguments)
    return SHORT.score(episode.record()).reward or 0.0


def looked(*queries: str) -> list[tuple[str, dict[str, object]]]:
    return [("search", {"query": query}) for query in queries]


def finish_call(answer: str, *citations: str) -> tuple[str, dict[str, object]]:
    return "finish", {"answer": answer, "citations": list(citations)}


def test_not_found_is_believed_after_two_searches(client: Client) -> None:
    task = Task("t", "Who is the mayor of Xq?", NOT_FOUND, answer_type="none")
    assert reward(client, task, *looked("mayor of Xq", "Xq town"), finish_call("Not found.")) == 1.0
    assert reward(client, task, *looked("mayor of Xq", "Xq town"), finish_call("It cannot be found")) == 1.0
    assert reward(client, task, *looked("mayor of Xq"), finish_call("not found")) == 0.0
    assert reward(client, task, *looked("Xq", "Xq zz"), finish_call("not found")) == 0.0
    assert reward(client, task, *looked("Xq zz", "Xq yy"), finish_call("not found")) == 0.0
    assert reward(client, task, *looked("mayor of Xq", "mayors of Xq please"), finish_call("not found")) == 0.0
    assert reward(client, task, *looked("mayor of Xq", "mayor of Wick"), finish_call("not found")) == 0.0
    assert reward(client, task, *looked("mayor of Xq", "Mayor of xq!"), finish_call("not found")) == 0.0
    assert reward(client, task, finish_call("not found")) == 0.0
    assert reward(client, task, *looked("mayor of Xq", "Xq town"), finish_call("not found", "r1")) == 0.0
    assert reward(client, task, *looked("mayor of Xq", "Xq town"), finish_call("Bo Lund")) == 0.0


def test_not_stated_is_believed_on_the_page_where_it_would_stand(world: World, client: Client) -> None:
    place, other = world.of("mayor").evidence[0].url, world.of("founded_by").evidence[0].url
    task = Task("t", "What is its anthem?", NOT_FOUND, (Evidence(place),), answer_type="none")
    there, elsewhere = [("open", {"link": url}) for url in (place, other)]
    assert reward(client, task, there, finish_call("not stated", place)) == 1.0
    assert reward(client, task, there, finish_call("not stated")) == 0.0
    assert reward(client, task, finish_call("not stated", place)) == 0.0
    assert reward(client, task, elsewhere, finish_call("not stated", other)) == 0.0
    assert reward(client, task, there, elsewhere, finish_call("not stated", place, other)) == 0.5


def test_not_found_earns_nothing_where_there_is_an_answer(world: World, client: Client) -> None:
    task = world.of("mayor")
    opened = ("open", {"link": task.evidence[0].url})
    for answer in NOT_FOUND:
        assert reward(client, task, *looked("a", "b"), opened, finish_call(answer)) == 0.0
        assert reward(client, task, *looked("a", "b"), opened, finish_call(answer, task.evidence[0].url)) == 0.0


def test_reports_have_their_own_rubric(world: World) -> None:
    task = world.of("mayor")
    assert rubric_of(task) is SHORT
    assert rubric_of(replace(task, answer_type="report")) is LONG


def test_words_are_swapped_wherever_they_are_shown(world: World, client: Client) -> None:
    task = world.of("mayor")
    name, url = task.answers[0], task.evidence[0].url
    episode = Episode(client, swap={name: "Zeno Quist", name.upper(): "Zeno Quist", "Mayor": "Provost"})
    episode.reset(task)
    observations = [episode.call("search", {"query": f"mayor {name}"}), episode.call("open", {"link": url})]
    assert all(
        name.casefold() not in line.casefold()
        for one in observations
        for line in one.text.split("\n")
        if "://" not in line
    )
    assert "Zeno Quist" in observations[1].text
    assert episode.call("find", {"pattern": "Zeno Quist"}).kind == "matches"
    assert "does not occur" in episode.call("find", {"pattern": name}).text
    episode.call("finish", {"answer": name, "citations": [url]})
    assert SHORT.score(episode.record()).terms["grounding"] == 0.0
