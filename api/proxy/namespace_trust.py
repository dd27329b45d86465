"""Make the programs of `webemu run` trust the authority by mounts of their namespace alone.

The authority is added to what programs read when no variable tells them otherwise: the system's bundle and folder, the
bundles of Python packages, and the stores of `webemu.api.proxy.application_stores`. Programs with authorities inside
their executable, such as Node, need the variables of `webemu.api.proxy.command`.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from webemu.api.proxy.application_stores import trust_in_chromium, trust_in_firefox, trust_in_java
from webemu.api.proxy.certificate_bundles import find_bundles, find_folders
from webemu.api.proxy.mounts import cover_file, cover_folder
from webemu.emulator.errors import EmulatorError


def trust_authority(certificate_file: Path, command: Sequence[str], env: Mapping[str, str], cleanup: ExitStack) -> None:
    """Add an authority to every store that a command may read. Close `cleanup` after the command.

    A store that cannot be covered is named on standard error and left as it is: a program that reads no other store
    then refuses the emulated web's certificates.
    """
    for add_authority in _list_steps(certificate_file, command, env, cleanup):
        try:
            add_authority()
        except (EmulatorError, OSError, ValueError) as error:
            print(f"webemu: some programs will not trust the authority: {error}", file=sys.stderr)


def _list_steps(
    certificate_file: Path, command: Sequence[str], env: Mapping[str, str], cleanup: ExitStack
) -> Iterator[Callable[[], None]]:
    """Yield a function for each store. Folders come before the bundles in them, which they would hide."""
    pem = certificate_file.read_bytes()
    for folder in find_folders():
        yield partial(_add_to_folder, folder, pem)
    yield partial(trust_in_java, certificate_file, env)
    yield partial(trust_in_firefox, certificate_file, env, cleanup)
    yield partial(trust_in_chromium, certificate_file, env, cleanup)
    for bundle in find_bundles(command, env):
        yield partial(_add_to_bundle, bundle, pem)


def _add_to_folder(folder: Path, pem: bytes) -> None:
    """Add a certificate to a folder of OpenSSL, under the hash of its name."""
    cover_folder(folder)
    (folder / f"{hash_subject(x509.load_pem_x509_certificate(pem))}.0").write_bytes(pem)


def _add_to_bundle(bundle: Path, pem: bytes) -> None:
    """Add a certificate to a bundle."""
    cover_file(bundle, bundle.read_bytes().rstrip() + b"\n" + pem)


def hash_subject(certificate: x509.Certificate) -> str:
    """Return the hash of a subject by which OpenSSL looks certificates up, X509_NAME_hash(3).

    It is that of the name in lower case, without the header of the outer sequence. It is right for names that are one
    plain common name, as that of our authority is.
    """
    [common_name] = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, str(common_name.value).lower())])
    digest = hashlib.sha1(name.public_bytes()[2:], usedforsecurity=False).digest()
    return f"{int.from_bytes(digest[:4], 'little'):08x}"
