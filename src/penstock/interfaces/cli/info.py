"""``penstock info``: what a graph directory holds, from its catalog alone."""

from __future__ import annotations

from penstock.interfaces.cli._options import Debug, GraphPath, Json


def command(graph: GraphPath, json: Json = False, debug: Debug = False) -> None:
    """Show what a graph holds. Reads its catalog only, so it is quick on any size."""
    from penstock.interfaces.cli._output import show
    from penstock.interfaces.cli._summary import as_text, describe
    from penstock.store.catalog import read_catalog

    data = describe(read_catalog(graph), graph)
    show("" if json else as_text(data), data, as_json=json)
