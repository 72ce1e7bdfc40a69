"""Certificates in the form that Dask takes."""

from __future__ import annotations

from typing import Any

from distributed import Security

from penstock.distributed.tls import Tls


def make_security(tls: Tls | None) -> Any:
    """A ``distributed.Security`` for all roles; None: nothing is encrypted."""
    if tls is None:
        return None
    texts = {
        f"tls_{role}_{kind}": text
        for role in ("client", "scheduler", "worker")
        for kind, text in (("cert", tls.certificate), ("key", tls.key))
    }
    return Security(require_encryption=True, tls_ca_file=tls.ca, **texts)
