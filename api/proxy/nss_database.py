"""Trust the authority in an NSS database, the certificate store of Chromium on Linux.

NSS is called by way of ctypes, since its own tool, certutil, is rarely installed, while the library comes with every
browser. It runs as a program of its own, `python -m webemu.api.proxy.nss_database FOLDER CERTIFICATE`: a fault in the
library must not end the caller.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

LIBRARY = "libnss3.so"
NICKNAME = b"webemu"
"""Name of the certificate in the database."""
_TRUSTED_FOR_SERVERS = b"C,,"
"""Trust in the notation of certutil: an authority for TLS servers, and for nothing else."""


class _Item(ctypes.Structure):
    """SECItem of NSS: bytes with their length."""

    _fields_ = (("type", ctypes.c_int), ("data", ctypes.c_char_p), ("len", ctypes.c_uint))


class _Trust(ctypes.Structure):
    """CERTCertTrust of NSS: flags for servers, mail and code."""

    _fields_ = (("ssl", ctypes.c_uint), ("email", ctypes.c_uint), ("signing", ctypes.c_uint))


def add_authority(folder: Path, certificate: bytes) -> None:
    """Add an authority in DER to the database in a folder; create the database if there is none.

    Raises:
        OSError: NSS is not installed, or refuses.
    """
    nss = ctypes.CDLL(LIBRARY)
    for name in ("PK11_GetInternalKeySlot", "CERT_GetDefaultCertDB", "CERT_NewTempCertificate"):
        getattr(nss, name).restype = ctypes.c_void_p
    _check(nss, nss.NSS_InitReadWrite(f"sql:{folder}".encode()))
    slot = ctypes.c_void_p(nss.PK11_GetInternalKeySlot())
    if nss.PK11_NeedUserInit(slot):  # a new database has no password; NSS wants to be told that it is empty
        _check(nss, nss.PK11_InitPin(slot, None, b""))
    store = ctypes.c_void_p(nss.CERT_GetDefaultCertDB())
    item = _Item(0, certificate, len(certificate))
    parsed = ctypes.c_void_p(nss.CERT_NewTempCertificate(store, ctypes.byref(item), None, 0, 1))
    _check(nss, nss.PK11_ImportCert(slot, parsed, ctypes.c_ulong(0), NICKNAME, 0))
    trust = _Trust()
    _check(nss, nss.CERT_DecodeTrustString(ctypes.byref(trust), _TRUSTED_FOR_SERVERS))
    _check(nss, nss.CERT_ChangeCertTrust(store, parsed, ctypes.byref(trust)))
    nss.CERT_DestroyCertificate(parsed)
    nss.PK11_FreeSlot(slot)
    _check(nss, nss.NSS_Shutdown())


def _check(nss: ctypes.CDLL, status: int) -> None:
    """Raise OSError if a function of NSS failed."""
    if status:
        raise OSError(f"NSS failed with error {nss.PORT_GetError()}")


def main(arguments: list[str]) -> int:
    """Add the certificate of a PEM file to the database in a folder; return the exit status."""
    folder, certificate_file = map(Path, arguments)
    certificate = x509.load_pem_x509_certificate(certificate_file.read_bytes())
    try:
        add_authority(folder, certificate.public_bytes(Encoding.DER))
    except OSError as error:
        print(f"{folder}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
