"""A flipped bit in any file of a snapshot is found while it is served, and the server says so instead of answering."""

import json
import os
import time
from pathlib import Path
from random import Random

import pytest

from tests.api.test_sessions import PATIENCE, Server, serving
from tests.crawls import CaptureSpec, html, ingest, write
from tests.seeds import every_nth
from webemu.index.manifest import current_id
from webemu.index.self_check import FOLDER, SelfCheck, find_first_damage, list_files

FLIPS = 3
"""Places in each file at which a bit is flipped."""


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    specs = [CaptureSpec(f"https://a.example/{n}", html(f"Page {n}", f"The harbour number {n}.")) for n in range(30)]
    ingest(tmp_path / "web", write(tmp_path / "a.warc.gz", specs))
    return tmp_path / "web"


def served_files(collection: Path) -> list[Path]:
    """Return all files of snapshots and shards but the lists of hashes themselves; linked ones once."""
    files = {path.stat().st_ino: path for path in collection.rglob("*/*") if path.is_file() and path.stat().st_size}
    folders = (collection / "snapshots", collection / "shards")
    inside = [path for path in files.values() if any(folder in path.parents for folder in folders)]
    return sorted(path for path in inside if path.name not in ("manifest.json", "shard.json"))


def flip(path: Path, random: Random, is_silent: bool = False) -> None:
    """Change one bit of a file in place; its time too, unless it is silent, as a failing disk is."""
    status = path.stat()
    with path.open("r+b") as file:
        at = random.randrange(path.stat().st_size)
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << random.randrange(8)]))
    if is_silent:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_flipped_bit_in_any_file_is_found(collection: Path) -> None:
    checked_files, random = list_files(collection, str(current_id(collection))), Random(0)
    assert find_first_damage(checked_files, sleep=lambda _: None) == ""
    files = served_files(collection)
    assert len(files) > 10
    for path in files:
        sound = path.read_bytes()
        for _ in range(FLIPS):
            flip(path, random)
            damage = find_first_damage(checked_files, sleep=lambda _: None)
            with path.open("r+b") as file:  # not written anew: other names are linked to the same file
                file.write(sound)
            assert damage, path
    assert find_first_damage(checked_files, sleep=lambda _: None) == ""


@pytest.mark.parametrize("lost", ["pages.lmdb", "words.txt"])
def test_a_lost_file_is_found(collection: Path, lost: str) -> None:
    snapshot = str(current_id(collection))
    checked_files = list_files(collection, snapshot)
    (collection / "snapshots" / snapshot / lost).unlink()
    assert "missing" in find_first_damage(checked_files, sleep=lambda _: None)


def wait_for(check: SelfCheck, snapshot: str) -> str:
    """Ask until the check that is due has ended, and return what it found."""
    deadline = time.monotonic() + PATIENCE
    check.find_damage(snapshot)
    while time.monotonic() < deadline and check._thread is not None and check._thread.is_alive():
        time.sleep(0.01)
    return check.find_damage(snapshot)


def restore(path: Path, content: bytes) -> None:
    """Write what was in a file before, in place: other names are linked to it."""
    with path.open("r+b") as file:
        file.write(content)


def test_a_result_is_kept_for_all_workers_until_a_file_is_restored(collection: Path, tmp_path: Path) -> None:
    snapshot, state = str(current_id(collection)), tmp_path / "state"
    path = served_files(collection)[0]
    sound = path.read_bytes()
    flip(path, Random(0), is_silent=True)
    assert path.name in wait_for(SelfCheck(collection, state, 24), snapshot)
    assert path.name in SelfCheck(collection, state, 24).find_damage(snapshot), "another worker reads the result"
    time.sleep(0.05)
    restore(path, sound)
    assert SelfCheck(collection, state, 24).find_damage(snapshot) == ""
    assert json.loads((state / FOLDER / f"{snapshot}.json").read_text())["damage"] == ""


def test_a_result_does_not_hold_for_a_snapshot_that_was_built_anew(collection: Path, tmp_path: Path) -> None:
    snapshot, state = str(current_id(collection)), tmp_path / "state"
    assert wait_for(SelfCheck(collection, state, 24), snapshot) == ""
    flip(served_files(collection)[0], Random(0), is_silent=True)
    assert wait_for(SelfCheck(collection, state, 24), snapshot) == ""
    os.utime(collection / "snapshots" / snapshot / "manifest.json")
    assert wait_for(SelfCheck(collection, state, 24), snapshot) != ""


def test_a_file_with_a_later_time_is_read_before_any_answer(collection: Path, tmp_path: Path) -> None:
    snapshot, path = str(current_id(collection)), served_files(collection)[0]
    check, sound = SelfCheck(collection, tmp_path / "state", 24), path.read_bytes()
    time.sleep(0.05)
    path.touch()
    assert check.find_damage(snapshot) == ""
    time.sleep(0.05)
    flip(path, Random(0))
    assert path.name in check.find_damage(snapshot)
    restore(path, sound)
    assert check.find_damage(snapshot) == ""


def test_a_snapshot_that_is_known_to_be_changed_is_read_whatever_its_times_say(collection: Path) -> None:
    snapshot, path = str(current_id(collection)), served_files(collection)[0]
    check = SelfCheck(collection, collection, 24)
    assert wait_for(check, snapshot) == ""
    flip(path, Random(0), is_silent=True)
    assert check.find_damage(snapshot) == ""
    assert path.name in check.find_damage(snapshot, is_changed=True)


def test_a_check_is_due_after_its_hours(collection: Path, tmp_path: Path) -> None:
    snapshot, state = str(current_id(collection)), tmp_path / "state"
    assert wait_for(SelfCheck(collection, state, 1), snapshot) == ""
    flip(served_files(collection)[0], Random(0), is_silent=True)
    assert wait_for(SelfCheck(collection, state, 1), snapshot) == "", "the last check was less than an hour ago"
    result = state / FOLDER / f"{snapshot}.json"
    last_result = json.loads(result.read_text())
    for checked in (time.time() - 3601, time.time() + 10**6):  # the clock was set back since
        result.write_text(json.dumps(last_result | {"checked": checked}))
        assert wait_for(SelfCheck(collection, state, 1), snapshot) != ""


def test_no_check_is_made_for_zero_hours(collection: Path, tmp_path: Path) -> None:
    check = SelfCheck(collection, tmp_path / "state", 0)
    assert check.find_damage(str(current_id(collection))) == ""
    assert check._thread is None


def test_a_state_that_cannot_be_written_keeps_the_result_in_memory(collection: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    flip(served_files(collection)[0], Random(0))
    check = SelfCheck(collection, tmp_path / "state", 24)
    assert wait_for(check, str(current_id(collection))) != ""


def ask_until(server: Server, status: int) -> tuple[int, dict[str, str], bytes]:
    """Ask for a search until the answer has a status, or patience ends."""
    deadline = time.monotonic() + PATIENCE
    while (answer := server.ask("GET", "/v1/search?q=harbour"))[0] != status and time.monotonic() < deadline:
        time.sleep(0.1)
    return answer


def test_a_session_on_a_damaged_snapshot_gets_no_answer_while_the_one_that_is_served_does(collection: Path) -> None:
    first = str(current_id(collection))
    more = [CaptureSpec("https://b.example/", html("Ferry", "The ferry of the harbour."))]
    ingest(collection, write(collection.parent / "b.warc.gz", more))
    assert current_id(collection) != first
    with serving(collection) as server:
        policy = json.dumps({"snapshot": first}).encode()
        session = json.loads(server.ask("POST", "/v1/sessions", policy)[2])["session"]
        headers = {"X-Webemu-Session": session}
        assert server.ask("GET", "/v1/search?q=harbour", headers=headers)[0] == 200
        checks = collection / FOLDER
        while not (checks / f"{first}.json").exists():
            time.sleep(0.1)
        flip(collection / "snapshots" / first / "pages.lmdb", Random(0))
        (checks / f"{first}.json").unlink()
        deadline = time.monotonic() + PATIENCE
        while server.ask("GET", "/v1/search?q=harbour", headers=headers)[0] == 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        status, answer_headers, _ = server.ask("GET", "/v1/fetch?url=https://a.example/1", headers=headers)
        assert (status, answer_headers["x-webemu-failure"]) == (503, "infrastructure")
        assert server.ask("GET", "/v1/search?q=harbour")[0] == 200


@pytest.mark.parametrize("workers", every_nth(["2", "1"], 2))
def test_a_server_stops_answering_from_a_damaged_snapshot(collection: Path, workers: str) -> None:
    flip(max(served_files(collection), key=lambda path: path.stat().st_size), Random(0))
    with serving(collection, "--workers", workers) as server:
        status, headers, body = ask_until(server, 503)
        assert status == 503
        assert headers["x-webemu-failure"] == "infrastructure"
        assert b"is damaged" in body
        assert str(collection).encode() not in body
        for _ in range(8):
            time.sleep(0.2)
            ask_until(server, 503)
        assert server.ask("GET", "/v1/fetch?url=https://a.example/1")[0] == 503
        assert server.ask("GET", "/search?q=harbour")[0] == 503


@pytest.mark.parametrize("workers", every_nth(["2", "1"], 2))
def test_no_answer_follows_a_change_of_a_file(collection: Path, workers: str) -> None:
    files, random = served_files(collection), Random(1)
    with serving(collection, "--workers", workers) as server:
        right_answer = ask_until(server, 200)[2]
        for _ in range(12):
            path = random.choice(files)
            sound = path.read_bytes()
            flip(path, random)
            for _ in range(4):
                status, headers, _ = server.ask("GET", "/v1/search?q=harbour")
                assert (status, headers["x-webemu-failure"]) == (503, "infrastructure"), path
            restore(path, sound)
            assert ask_until(server, 200)[2] == right_answer


def test_a_file_may_be_replaced_by_a_sound_one(collection: Path) -> None:
    path = collection / "snapshots" / str(current_id(collection)) / "pages.lmdb"
    sound = path.read_bytes()
    with serving(collection) as server:
        right_answer = ask_until(server, 200)[2]
        flip(path, Random(0))
        assert ask_until(server, 503)[0] == 503
        copy = path.with_suffix(".copy")
        copy.write_bytes(sound)
        copy.rename(path)
        assert ask_until(server, 200)[2] == right_answer
