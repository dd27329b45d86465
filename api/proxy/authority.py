"""Local certificate authority: its key and certificate on disk, and TLS contexts for any host name, created on demand.

One leaf key serves all names; a certificate costs 0.1 ms, a context 1 ms and 20 KB. Nothing here installs the
authority into a trust store; `webemu env` makes single programs trust it.
"""

from __future__ import annotations

import ipaddress
import shutil
import ssl
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from webemu.emulator.errors import EmulatorError

FOLDER = "ca"
"""Folder of the authority, below the root of the collections."""
CERTIFICATE_FILE, KEY_FILE = "ca.pem", "ca.key"
COMMON_NAME = "webemu local CA - for the emulated web only"
"""Name in the certificate of the authority."""
MAX_CONTEXTS = 2048
"""Host names whose TLS contexts are kept, in one process."""
CA_YEARS, LEAF_DAYS, EARLIER_DAYS = 10, 365, 30
"""Validity of certificates; they hold for some days before they were made, for clocks that are slow or set back."""


def ensure_authority(root: Path) -> Path:
    """Return the folder of the authority below a root of collections, creating it with a new key if necessary.

    Raises:
        EmulatorError: it does not exist and cannot be created.
    """
    folder = root / FOLDER
    if (folder / CERTIFICATE_FILE).exists():
        return folder
    try:
        root.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".ca-", dir=root))
    except OSError as error:
        action = f"create it as a user who may write to {root}: webemu ca --root {root}"
        raise EmulatorError(f"{folder} does not exist and cannot be created: {error}", action=action) from error
    key = ec.generate_private_key(ec.SECP256R1())
    for name, content in ((KEY_FILE, _encode_pem(key)), (CERTIFICATE_FILE, _make_root_certificate(key))):
        (temporary / name).touch(0o600)
        (temporary / name).write_bytes(content)
    try:
        temporary.rename(folder)
    except OSError:  # of two processes that create it at the same time, the first wins
        shutil.rmtree(temporary)
    return folder


def _make_root_certificate(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the self-signed certificate of a new authority, in PEM."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, COMMON_NAME)])
    builder = _certificate_builder(name, name, key.public_key(), 365 * CA_YEARS)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)  # no sub-CAs
    usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
    builder = builder.add_extension(usage, critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    signed = builder.add_extension(identifier, critical=False).sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM)


class TlsContextCache:
    """TLS contexts by host name. The authority is read, or created, when the first one is requested."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._authority: CertificateAuthority | None = None

    def __call__(self, name: str) -> ssl.SSLContext:
        """Return the TLS context of a host name in lower case."""
        if self._authority is None:
            self._authority = CertificateAuthority(ensure_authority(self._root))
        return self._authority.tls_context(name)


class CertificateAuthority:
    """Issues certificates for host names, signed by the authority in a folder."""

    def __init__(self, folder: Path) -> None:
        self._certificate = x509.load_pem_x509_certificate((folder / CERTIFICATE_FILE).read_bytes())
        key = serialization.load_pem_private_key((folder / KEY_FILE).read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        self._key = key
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        # OpenSSL parses this format fastest, and parsing the key is most of the cost of a context
        self._leaf_pem = _encode_pem(self._leaf_key, serialization.PrivateFormat.TraditionalOpenSSL)
        self.tls_context: Callable[[str], ssl.SSLContext] = lru_cache(MAX_CONTEXTS)(self._make_tls_context)
        """Returns the TLS context of a host name in lower case; cached."""

    def _make_tls_context(self, name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])  # the only version spoken here
        context.options |= ssl.OP_NO_RENEGOTIATION
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:  # Python loads certificates from files only
            file.write(self._leaf_pem + self._issue(name))
            file.flush()
            context.load_cert_chain(file.name)
        return context

    def _issue(self, name: str) -> bytes:
        """Return a new certificate for a host name or IP address, in PEM."""
        try:
            alternative: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
        except ValueError:
            alternative = x509.DNSName(name)
        # X.509 limits a common name to 64 characters; clients read the alternative name anyway.
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
        builder = _certificate_builder(subject, self._certificate.subject, self._leaf_key.public_key(), LEAF_DAYS)
        names = x509.SubjectAlternativeName([alternative])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        builder = builder.add_extension(names, critical=False).add_extension(usage, critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        signed = builder.add_extension(issuer, critical=False).sign(self._key, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM)


def _certificate_builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    """Return a certificate builder with names, key, a random serial number, and a validity that has begun before."""
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(days=EARLIER_DAYS)).not_valid_after(now + timedelta(days=days))


def _encode_pem(
    key: ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8
) -> bytes:
    """Return a private key in PEM, unencrypted."""
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
