"""Converted documents that are kept on disk: found again by other processes, never wrong, never too many."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from webemu.index.kept_texts import KeptTexts
from webemu.index.recent_conversions import RecentConversions

MEBIBYTE = 1 << 20


def digest_of(number: int) -> bytes:
    return number.to_bytes(16, "big")


def fill(folder: Path, texts: dict[int, str], max_bytes: int = 64 * MEBIBYTE) -> None:
    kept_texts = KeptTexts(folder, max_bytes)
    for number, text in texts.items():
        kept_texts.put(digest_of(number), text)
    kept_texts.close()


def read(folder: Path, numbers: range, max_bytes: int = 64 * MEBIBYTE) -> list[str | None]:
    kept_texts = KeptTexts(folder, max_bytes)
    try:
        return [kept_texts.get(digest_of(number)) for number in numbers]
    finally:
        kept_texts.close()


def test_what_was_kept_is_found_by_another_process(tmp_path: Path) -> None:
    fill(tmp_path / "views", {0: "", 1: "# Velmora\n\nA town on the Tash.", 2: "\udc80 雪"})
    code = (
        "import sys; from pathlib import Path; from webemu.index.kept_texts import KeptTexts;"
        "kept_texts = KeptTexts(Path(sys.argv[1]), 64 << 20);"
        "print([kept_texts.get(number.to_bytes(16, 'big')) for number in range(4)]); kept_texts.close()"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path / "views")], capture_output=True, text=True)
    assert run.stdout.strip() == repr(["", "# Velmora\n\nA town on the Tash.", "\udc80 雪", None]), run.stderr


def test_a_document_is_converted_once_for_all_processes(tmp_path: Path) -> None:
    calls: list[str] = []
    for _ in range(2):
        recent = RecentConversions()
        recent.kept_texts = KeptTexts(tmp_path / "views", 64 * MEBIBYTE)
        assert recent.get_or_convert(lambda: calls.append("") or "converted", "markdown", "<p>x") == "converted"
        assert recent.find("markdown", "<p>x") == "converted"
        assert recent.find("links", "<p>x") is None
        recent.kept_texts.close()
    assert len(calls) == 1


def test_all_make_room_when_the_disk_space_is_used_up(tmp_path: Path) -> None:
    random = Random(1)
    kept_texts = KeptTexts(tmp_path / "views", MEBIBYTE)
    kept_texts.close()
    for start in range(0, 60, 10):
        fill(tmp_path / "views", {n: random.randbytes(20_000).hex() for n in range(start, start + 10)}, MEBIBYTE)
    texts_found = [text is not None for text in read(tmp_path / "views", range(60), MEBIBYTE)]
    assert 0 < sum(texts_found) < 60
    assert sum(path.stat().st_size for path in (tmp_path / "views").rglob("data.mdb")) <= MEBIBYTE


def test_a_text_that_is_very_long_is_not_kept(tmp_path: Path) -> None:
    fill(tmp_path / "views", {0: "x" * (17 * MEBIBYTE), 1: "short"})
    assert read(tmp_path / "views", range(2)) == [None, "short"]


@pytest.mark.parametrize("seed", range(20))
def test_a_flipped_bit_is_never_a_wrong_text(tmp_path: Path, seed: int) -> None:
    texts = {number: f"page {number} " * 50 for number in range(200)}
    fill(tmp_path / "views", texts)
    path, random = next((tmp_path / "views").rglob("data.mdb")), Random(seed)
    content = bytearray(path.read_bytes())
    leaves = [at for at in range(len(content)) if content[at : at + 4] == b"\x28\xb5\x2f\xfd"]  # frames of zstd
    for at in random.sample(leaves, 50):
        content[at + random.randrange(20)] ^= 1 << random.randrange(8)
    path.write_bytes(content)
    texts_found = read(tmp_path / "views", range(200))
    assert all(text in (None, texts[number]) for number, text in enumerate(texts_found))
    assert 150 <= sum(text is not None for text in texts_found) < 200


def test_a_file_that_is_none_is_made_anew(tmp_path: Path) -> None:
    fill(tmp_path / "views", {0: "old"})
    next((tmp_path / "views").rglob("data.mdb")).write_bytes(b"no environment" * 1000)
    fill(tmp_path / "views", {1: "new"})
    assert read(tmp_path / "views", range(2)) == [None, "new"]


def test_what_other_versions_of_the_converters_made_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "views", {0: "old"})
    with monkeypatch.context() as patch:
        patch.setattr("webemu.index.kept_texts._PACKAGES", ("lmdb",))
        assert read(tmp_path / "views", range(1)) == [None]
    assert len(list((tmp_path / "views").iterdir())) == 1
    assert read(tmp_path / "views", range(1)) == [None]


def test_a_collection_that_is_not_there_is_not_made_and_used_once_it_is(tmp_path: Path) -> None:
    kept_texts = KeptTexts(tmp_path / "collection" / "views", 64 * MEBIBYTE)
    assert kept_texts.get(digest_of(0)) is None
    assert not list(tmp_path.iterdir())
    (tmp_path / "collection").mkdir()
    kept_texts.put(digest_of(0), "first")
    kept_texts.close()
    assert read(tmp_path / "collection" / "views", range(1)) == ["first"]


def test_a_file_where_the_folder_should_be_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "views").write_text("")
    fill(tmp_path / "views", {0: "x"})
    assert read(tmp_path / "views", range(1)) == [None]
