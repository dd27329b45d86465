"""Settings: file, then environment, then flags."""

from pathlib import Path

import pytest

from webemu.emulator.config import Config, list_tenants, load_config
from webemu.emulator.errors import BadRequest


def test_flags_win_over_environment_over_file(tmp_path: Path) -> None:
    file = tmp_path / "webemu.toml"
    file.write_text('port = 1\ncollection = "file"\nroot = "from-file"\n')
    environ = {"WEBEMU_CONFIG": str(file), "WEBEMU_COLLECTION": "environ", "WEBEMU_PORT": "2"}
    config = load_config({"port": 3, "host": None}, environ)
    assert config == Config(root=Path("from-file"), collection="environ", port=3)
    assert config.collection_folder == Path("from-file/environ")


def test_an_unknown_setting_is_named(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text("prot = 1\n")
    with pytest.raises(BadRequest, match="prot"):
        load_config({}, {"WEBEMU_CONFIG": str(tmp_path / "w.toml")})


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden"])
def test_a_collection_cannot_leave_its_root(name: str) -> None:
    with pytest.raises(BadRequest):
        load_config({"collection": name}, {})


def test_a_value_of_the_wrong_type_is_named() -> None:
    with pytest.raises(BadRequest, match="port"):
        load_config({}, {"WEBEMU_PORT": "eighty"})


@pytest.mark.parametrize("text", ["port = [1]", "port = 99999999", "workers = 0", "cache_mb = -1", "port = ", "\udcff"])
def test_a_file_that_cannot_be_used_is_said_in_one_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "w.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadRequest):
        load_config({}, {"WEBEMU_CONFIG": str(tmp_path / "w.toml")})


TENANTS = '[tenants.red]\nport = 1\napi_keys = "r"\n[tenants.blue]\nport = 2\napi_keys = "b"\n'


def test_a_tenant_has_its_own_settings_and_state(tmp_path: Path) -> None:
    file = tmp_path / "webemu.toml"
    file.write_text('root = "data"\nworkers = 3\n' + TENANTS + 'collection = "papers"\n')
    config = load_config({"tenant": "blue"}, {"WEBEMU_CONFIG": str(file)})
    assert (config.port, config.workers, config.accepted_keys) == (2, 3, frozenset("b"))
    assert config.state_folder == Path("data/.tenants/blue/papers")
    assert list_tenants({"WEBEMU_CONFIG": str(file)}) == ["red", "blue"]
    assert load_config({}, {"WEBEMU_CONFIG": str(file)}).accepted_keys == frozenset()


@pytest.mark.parametrize(
    ("text", "environ", "words"),
    [
        (TENANTS + 'api_key = "x"\n', {}, "api_keys"),
        (TENANTS.replace('api_keys = "b"', 'api_keys = "b, r"'), {}, "same api_keys"),
        (TENANTS.replace('api_keys = "b"', 'api_keys = "any"'), {}, "api_keys"),
        (TENANTS.replace('api_keys = "b"', 'api_keys = "b,any"'), {}, "api_keys"),
        (TENANTS.replace('api_keys = "b"\n', ""), {}, "api_keys"),
        (TENANTS.replace("port = 2", "port = 1"), {}, "same port"),
        (TENANTS.replace("port = 2\n", ""), {}, "port"),
        (TENANTS + 'state = "s"\n[tenants.green]\nport = 3\napi_keys = "g"\nstate = "./s"\n', {}, "same state"),
        (TENANTS + 'tenant = "red"\n', {}, "tenant"),
        (TENANTS, {"WEBEMU_API_KEYS": "any"}, "WEBEMU_API_KEYS"),
        (TENANTS, {"WEBEMU_TENANT": "green"}, "green"),
        ("tenants = 3\n", {}, "tenants"),
    ],
)
def test_tenants_that_are_not_apart_are_refused(tmp_path: Path, text: str, environ: dict[str, str], words: str) -> None:
    (tmp_path / "webemu.toml").write_text(text)
    with pytest.raises(BadRequest, match=words):
        load_config({}, {"WEBEMU_CONFIG": str(tmp_path / "webemu.toml"), "WEBEMU_TENANT": "blue"} | environ)
