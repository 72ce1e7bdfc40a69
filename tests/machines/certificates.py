"""A certificate for the machines of a test, as files."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Certificate:
    """One key that all machines have, and the certificate that all of them trust."""

    certificate: Path
    key: Path

    def options(self) -> list[str]:
        """What Penstock's commands take."""
        return [
            "--tls-ca", str(self.certificate),
            "--tls-cert", str(self.certificate),
            "--tls-key", str(self.key),
        ]  # fmt: skip

    def security(self) -> Any:
        """What Dask's clients take."""
        from distributed.security import Security

        pair = {
            f"tls_{role}_{what}": str(path)
            for role in ("client", "scheduler", "worker")
            for what, path in (("cert", self.certificate), ("key", self.key))
        }
        return Security(tls_ca_file=str(self.certificate), require_encryption=True, **pair)


def missing() -> str:
    """Why there can be no certificates; empty if there can."""
    return "" if shutil.which("openssl") else "certificates need the command openssl"


def make_certificate(folder: Path) -> Certificate:
    """A key and a certificate that it has signed itself, in files that only their owner reads."""
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    for path in (made.certificate, made.key):
        path.touch(0o600)
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=penstock-test",
            "-out", str(made.certificate), "-keyout", str(made.key),
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return made
