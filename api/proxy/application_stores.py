"""Certificate stores of single applications, covered in the namespace of `webemu run`: Chromium, Firefox and Java.

Each function raises EmulatorError or OSError if a store cannot be covered, and does nothing if the application is not
installed. Folders that had to be created as places to mount over are removed when the `cleanup` stack is closed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from ctypes import CDLL
from pathlib import Path

from webemu.api.proxy.mounts import cover_file, cover_folder, ensure_folder
from webemu.api.proxy.nss_database import LIBRARY
from webemu.api.proxy.programs import encode_java_store
from webemu.emulator.errors import EmulatorError

CHROMIUM_DATABASES = (".pki/nssdb", ".local/share/pki/nssdb")
"""Folders of Chromium's certificate store below HOME. It uses the first that exists; older versions know no other."""
FIREFOX_NAMES = ("firefox", "firefox-esr")
FIREFOX_FOLDERS = ("/usr/lib/firefox", "/usr/lib64/firefox", "/opt/firefox")
"""Folders in which Firefox is often installed, for machines on which `firefox` is a script."""
SYSTEM_POLICIES = Path("/etc/firefox/policies/policies.json")
"""Policies that Firefox prefers to those in its own folder."""
JAVA_STORE = "lib/security/cacerts"
"""File of authorities below the folder of a Java runtime."""


def trust_in_chromium(certificate_file: Path, env: Mapping[str, str], cleanup: ExitStack) -> None:
    """Add an authority to the database of Chromium, Chrome and Edge."""
    if not env.get("HOME") or not _has_library():
        return
    databases = [Path(env["HOME"], name) for name in CHROMIUM_DATABASES]
    database = next((folder for folder in databases if folder.is_dir()), databases[0])
    cleanup.enter_context(ensure_folder(database))
    cover_folder(database)
    program = [sys.executable, "-P", "-m", "webemu.api.proxy.nss_database", str(database), str(certificate_file)]
    completed = subprocess.run(program, capture_output=True, text=True)
    if completed.returncode:
        raise EmulatorError(f"the authority was not added for Chromium: {completed.stderr.strip()}")


def _has_library() -> bool:
    """True if NSS is installed, as it is wherever Chromium runs."""
    try:
        CDLL(LIBRARY)
    except OSError:
        return False
    return True


def trust_in_firefox(certificate_file: Path, env: Mapping[str, str], cleanup: ExitStack) -> None:
    """Have each Firefox install an authority by policy when it starts."""
    for file in _list_policy_files(env):
        policies = json.loads(file.read_bytes()) if file.is_file() else {}
        certificates = policies.setdefault("policies", {}).setdefault("Certificates", {})
        certificates.setdefault("Install", []).append(str(certificate_file.resolve()))
        content = json.dumps(policies).encode()
        if file.is_file():
            cover_file(file, content)
            continue
        cleanup.enter_context(ensure_folder(file.parent))
        cover_folder(file.parent)
        file.write_bytes(content)


def _list_policy_files(env: Mapping[str, str]) -> list[Path]:
    """Return the files in which Firefox looks for policies; they may be missing."""
    programs = (shutil.which(name, path=env.get("PATH")) for name in FIREFOX_NAMES)
    folders = [*(Path(program).resolve().parent for program in programs if program), *map(Path, FIREFOX_FOLDERS)]
    installed = dict.fromkeys(folder for folder in folders if (folder / "application.ini").is_file())
    if installed and SYSTEM_POLICIES.is_file():
        return [SYSTEM_POLICIES]
    return [folder / "distribution" / "policies.json" for folder in installed]


def trust_in_java(certificate_file: Path, env: Mapping[str, str]) -> None:
    """Lay a key store that holds an authority alone over that of each Java."""
    stores = list(dict.fromkeys(_list_java_stores(env)))
    if stores:
        content = encode_java_store(certificate_file.read_bytes())
        for store in stores:
            cover_file(store, content)


def _list_java_stores(env: Mapping[str, str]) -> Iterator[Path]:
    """Yield the key stores of the Java on the PATH and of JAVA_HOME."""
    program = shutil.which("java", path=env.get("PATH"))
    homes = [Path(program).resolve().parents[1]] if program else []
    for home in [*homes, *([Path(env["JAVA_HOME"])] if env.get("JAVA_HOME") else [])]:
        for store in (home / JAVA_STORE, home / "jre" / JAVA_STORE):
            if store.is_file():
                yield store.resolve()
