"""What the backend offers. Imports nothing, as ``import networkx`` imports it."""

from __future__ import annotations

from typing import Any

#: The module of each function, and what a user should know of it beyond NetworkX's own words.
FUNCTIONS: dict[str, tuple[str, str]] = {
    "pagerank": ("link_analysis", ""),
}


def get_info() -> dict[str, Any]:
    """What NetworkX's registry of backends asks for."""
    return {
        "backend_name": "penstock",
        "project": "penstock",
        "package": "penstock",
        "short_summary": "Graphs bigger than memory: topology streams from disk past the values.",
        "functions": {
            name: {"additional_docs": note} if note else {} for name, (_, note) in FUNCTIONS.items()
        },
    }
