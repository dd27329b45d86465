from pathlib import Path

from webemu.index.earlier_results import EarlierResult, delete_obsolete_result, find_earlier_result, keep_result


def test_a_result_is_used_only_for_what_it_was_counted_from(tmp_path: Path) -> None:
    def keep() -> Path:
        path = tmp_path / ".texts.1.parquet"
        path.write_bytes(b"rows")
        keep_result(tmp_path, "texts", path, "code", {1: 10, 2: -20}, {1: 7, 2: -8})
        assert not path.exists()
        return tmp_path / "texts.parquet"

    def find(builder: str, contents: dict[int, int]) -> EarlierResult | None:
        return find_earlier_result(tmp_path, "texts", builder, contents)

    kept_file = keep()
    grown = {1: 10, 2: -20, 3: 30}
    assert find("code", grown) == EarlierResult(kept_file, frozenset((1, 2)), {1: 7, 2: -8})
    assert find("other code", grown) is None
    assert find("code", {1: 10, 2: -21, 3: 30}) is None
    assert find("code", {1: 10, 3: 30}) is None
    assert find_earlier_result(tmp_path, "bands", "code", grown) is None
    kept_file.write_bytes(b"ROWS")
    assert find("code", grown) is None
    keep()
    (tmp_path / "texts.json").write_text("[]")
    assert find("code", grown) is None
    assert find_earlier_result(tmp_path / "none", "texts", "code", grown) is None


def test_only_a_result_that_no_build_can_use_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / ".texts.1.parquet"
    path.write_bytes(b"rows")
    keep_result(tmp_path, "texts", path, "code", {1: 10})
    delete_obsolete_result(tmp_path, "texts", "code", {1: 10, 2: 20})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["texts.json", "texts.parquet"]
    delete_obsolete_result(tmp_path, "texts", "code", {1: 11})
    assert list(tmp_path.iterdir()) == []
    delete_obsolete_result(tmp_path, "texts", "code", {1: 11})
