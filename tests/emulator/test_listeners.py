"""Policies of listeners: how two are joined, and how the setting `listen` is read."""

import pytest

from webemu.emulator.config import Config, load_config
from webemu.emulator.errors import BadRequest
from webemu.emulator.listener_policies import parse_listeners
from webemu.emulator.policy import Policy, parse_policy, policy_from_json, policy_to_json
from webemu.emulator.policy_join import join_policies


def joined(limits: dict[str, object], named: dict[str, object]) -> dict[str, object]:
    return policy_to_json(join_policies(policy_from_json(limits), policy_from_json(named)))


@pytest.mark.parametrize(
    ("limits", "named", "result"),
    [
        ({}, {}, {}),
        ({"as_of": "2024-01-02"}, {"as_of": "2024-05-02"}, {"as_of": "2024-01-02T00:00:00Z"}),
        ({"as_of": "2024-01-02"}, {}, {"as_of": "2024-01-02T00:00:00Z"}),
        ({}, {"as_of": "2024-01-02"}, {"as_of": "2024-01-02T00:00:00Z"}),
        ({"marks": False}, {"strict": True}, {"marks": False, "strict": True}),
        ({"task": "a", "rollout": "1"}, {"task": "b"}, {"task": "b", "rollout": "1"}),
        ({"engine": "plain"}, {"engine": "plain", "seed": 4}, {"engine": "plain", "seed": 4}),
        (
            {"blocked": {"domains": ["b.example", "a.example"], "texts": ["x"]}},
            {"blocked": {"domains": ["c.example", "a.example"], "ngrams": ["1"]}},
            {"blocked": {"domains": ["a.example", "b.example", "c.example"], "texts": ["x"], "ngrams": ["1"]}},
        ),
        ({"budget": {"searches": 1}}, {"budget": {"searches": 5}}, {"budget": {"searches": 5}}),
        (
            {"weather": {"errors": 0.1, "retry_after": 9}},
            {"weather": {"errors": 0.02, "resets": 0.2}},
            {"weather": {"errors": 0.1, "resets": 0.2, "retry_after": 9}},
        ),
    ],
)
def test_both_policies_hold(limits: dict[str, object], named: dict[str, object], result: dict[str, object]) -> None:
    assert joined(limits, named) == result


@pytest.mark.parametrize(
    ("limits", "named", "words"),
    [
        ({"engine": "plain"}, {"engine": "weak"}, "its engine is 'weak', and the listener's is 'plain'"),
        ({"snapshot": "a"}, {"snapshot": "b"}, "snapshot"),
        ({"seed": 1}, {"seed": 2}, "seed"),
        ({"snippet": "long"}, {"snippet": "short"}, "snippet"),
        ({"weather": {"latency": {"ms": 1}}}, {"weather": {"latency": {"ms": 2}}}, "latency"),
        ({"weather": {"errors": 0.7}}, {"weather": {"resets": 0.7}}, "more than 1"),
    ],
)
def test_what_no_web_could_keep_is_refused(limits: dict[str, object], named: dict[str, object], words: str) -> None:
    with pytest.raises(BadRequest, match=words) as caught:
        joined(limits, named)
    assert caught.value.reason == "session-conflict"


def test_joining_changes_nothing_where_one_is_empty() -> None:
    policy = parse_policy('{"task": "t", "seed": 3, "blocked": {"urls": ["http://a/"]}, "weather": {"resets": 0.1}}')
    assert join_policies(Policy(), policy) == policy
    assert join_policies(policy, Policy()) == policy


def test_listeners_are_read() -> None:
    listeners = parse_listeners(
        "127.0.0.1:8801=policy.json, [::1]:8802=ws-ab,:8803=p=q.json,unix:/tmp/a.sock=b.json,"
        "unix:/tmp/a.sock@1001=c=d@2.json"
    )
    assert [(one.host, one.port, one.policy) for one in listeners] == [
        ("127.0.0.1", 8801, "policy.json"),
        ("::1", 8802, "ws-ab"),
        ("127.0.0.1", 8803, "p=q.json"),
        ("", 0, "b.json"),
        ("", 0, "c=d@2.json"),
    ]
    assert [one.key for one in listeners] == [8801, 8802, 8803, "/tmp/a.sock", "/tmp/a.sock@1001"]
    assert parse_listeners(",".join(f"{one.address}={one.policy}" for one in listeners)) == listeners
    assert parse_listeners("none") == ()


@pytest.mark.parametrize(
    "text",
    ["8801=policy.json", "127.0.0.1:8801", "127.0.0.1:8801=", "127.0.0.1:0=p", "127.0.0.1:70000=p", "unix:=p",
     "a b:1=p", ":1=a,:1=b", "unix:a=x,unix:a=y"],
)  # fmt: skip
def test_listeners_without_a_policy_or_address_are_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="listen"):
        Config(listen=text)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("ON", True), ("False", False), ("0", False)])
def test_a_session_is_required_by_the_environment(text: str, value: bool) -> None:
    assert load_config({}, {"WEBEMU_REQUIRE_SESSION": text}).require_session is value


def test_settings_of_the_guard_that_guard_nothing_are_refused() -> None:
    with pytest.raises(BadRequest, match="require_session must be true or false"):
        load_config({}, {"WEBEMU_REQUIRE_SESSION": "perhaps"})
    with pytest.raises(BadRequest, match="16 ASCII characters"):
        Config(admin_token="short")
