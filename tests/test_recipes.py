"""The recipes of deploy/ for one server, read by the programs for which they are: systemd, nginx and Caddy."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[1] / "deploy"


def run(command: Sequence[str | Path]) -> str:
    """Run a program, skipping if this machine lacks it; return what it wrote."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} is installed")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Return a folder with the certificate that the recipes name."""
    key, chain = tmp_path / "privkey.pem", tmp_path / "fullchain.pem"
    options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    run(["openssl", "req", "-x509", *options, "-keyout", key, "-out", chain])
    return tmp_path


def with_certificate(recipe: str, folder: Path) -> str:
    text = (DEPLOY / recipe).read_text(encoding="utf-8")
    assert text.count("/etc/ssl/webemu/") == 2
    return text.replace("/etc/ssl/webemu/", f"{folder}/")


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "systemd/webemu.service").read_text(encoding="utf-8")
    program = tmp_path / "webemu"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / "webemu.service"
    unit.write_text(text.replace("/opt/webemu/bin/webemu", str(program)))
    warnings = [line for line in run(["systemd-analyze", "verify", "--man=no", unit]).splitlines() if "webemu" in line]
    assert warnings == []


def test_nginx_accepts_its_configuration(certificate: Path) -> None:
    (certificate / "server.conf").write_text(with_certificate("nginx.conf", certificate))
    http = f"http {{ access_log off; include {certificate}/server.conf; }}"
    main = f"pid {certificate}/pid; error_log stderr; events {{}} {http}"
    (certificate / "nginx.conf").write_text(main)
    assert "test is successful" in run(["nginx", "-t", "-p", certificate, "-c", certificate / "nginx.conf"])


def test_caddy_accepts_its_configuration(certificate: Path) -> None:
    recipe = certificate / "Caddyfile"
    recipe.write_text(with_certificate("Caddyfile", certificate))
    assert "Valid configuration" in run(["caddy", "validate", "--adapter", "caddyfile", "--config", recipe])
