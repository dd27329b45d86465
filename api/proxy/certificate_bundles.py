"""Find the certificate bundles that the programs of a command read: those of the system and those of Python packages.

Python packages bring bundles of their own (certifi, botocore, grpc) and ignore the system's. Which ones a command can
see depends on its interpreter, so every interpreter that the command may start is asked for its module path.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Alpine, Arch
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # Fedora, RHEL
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",
)
"""Files in which systems keep the authorities that they trust."""
SYSTEM_FOLDERS = ("/etc/ssl/certs", "/etc/pki/tls/certs")
"""Folders in which OpenSSL looks authorities up by the hash of their name."""
PACKAGE_BUNDLES = (
    "*/cacert.pem",  # certifi, botocore
    "*/_vendor/certifi/cacert.pem",  # pip
    "httplib2/cacerts.txt",
    "grpc/_cython/_credentials/roots.pem",
)
"""Bundles below a folder of Python packages, as patterns."""
PROBE = "import json, ssl, sys; print(json.dumps([ssl.get_default_verify_paths().openssl_cafile, *sys.path]))"
"""Program that prints where an interpreter finds authorities and modules."""
PROBE_SECONDS = 20.0
"""Seconds that an interpreter has to answer."""
MAX_SHEBANG_BYTES = 512
MAX_WORDS = 50
"""Words that are looked at in each argument, which may be a whole script."""
SHELL_MARKS = "'\"();&|"
"""Characters that may stand around a word in a script."""
_INTERPRETER_NAME = re.compile(r"(python|pypy)[0-9.]*")
_SHEBANG = re.compile(r"#! *(?:/usr/bin/env +(?:-S +)?|/bin/sh\n'''exec' )?\"?([^\s\"]+)")
"""Beginning of a script and its interpreter. Paths that are too long for a first line stand in the second, for `sh`."""


def find_bundles(command: Sequence[str], env: Mapping[str, str]) -> list[Path]:
    """Return the bundles that this user can read, each once, with symbolic links resolved."""
    packages = (bundle for paths in _probe(_find_interpreters(command, env), env) for bundle in _list_bundles(paths))
    files = [*map(Path, SYSTEM_BUNDLES), *packages]
    return list(dict.fromkeys(file.resolve() for file in files if os.access(file, os.R_OK)))


def find_folders() -> list[Path]:
    """Return the readable folders of hashed certificates, each once, with symbolic links resolved."""
    return list(dict.fromkeys(folder.resolve() for folder in map(Path, SYSTEM_FOLDERS) if os.access(folder, os.R_OK)))


def _find_interpreters(command: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Return the Python interpreters that a command may start: those that its words name, those of scripts that they
    name, and those that a user means by `python`.
    """
    words = [word.strip(SHELL_MARKS) for argument in command for word in argument.split()[:MAX_WORDS]]
    search_path = env.get("PATH", os.defpath)
    named = (program for word in words if (program := shutil.which(word, path=search_path)))
    usual = (shutil.which(name, path=search_path) for name in ("python", "python3", ".venv/bin/python"))
    interpreters = [*map(_find_interpreter, named), *usual, sys.executable]
    return list(dict.fromkeys(str(Path(interpreter).absolute()) for interpreter in interpreters if interpreter))


def _find_interpreter(program: str) -> str | None:
    """Return the Python interpreter of a script, or the program itself if it is one; None for any other program."""
    if _INTERPRETER_NAME.fullmatch(Path(program).name):
        return program
    try:
        with Path(program).open("rb") as file:
            head = file.read(MAX_SHEBANG_BYTES).decode(errors="replace")
    except OSError:
        return None
    match = _SHEBANG.match(head)
    return shutil.which(match[1]) if match and _INTERPRETER_NAME.fullmatch(Path(match[1]).name) else None


def _probe(interpreters: Iterable[str], env: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield what each interpreter prints, which all do at the same time. One that fails is left out."""
    null, processes = subprocess.DEVNULL, []
    for interpreter in interpreters:
        with suppress(OSError):  # it is no program after all
            # In the root folder, since Python would import modules of the probe from the current one.
            command = [interpreter, "-c", PROBE]
            process = subprocess.Popen(command, env=dict(env), cwd="/", stdin=null, stdout=subprocess.PIPE, stderr=null)
            processes.append(process)
    for process in processes:
        try:
            yield json.loads(process.communicate(timeout=PROBE_SECONDS)[0])
        except (ValueError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()


def _list_bundles(paths: Sequence[str]) -> Iterator[Path]:
    """Yield the bundles of an interpreter: OpenSSL's file, and those of packages in the folders that follow it."""
    yield Path(paths[0])
    for folder in filter(None, paths[1:]):
        for pattern in PACKAGE_BUNDLES:
            yield from Path(folder).glob(pattern)
