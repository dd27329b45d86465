"""Settings: file, then environment, then flags."""

from pathlib import Path

import pytest

from webemu.emulator.config import Config, load_config
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
