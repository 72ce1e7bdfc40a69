"""``penstock info``: what a graph directory holds."""

from __future__ import annotations

from penstock.interfaces.cli._options import GraphPath, Output


def command(graph: GraphPath, output: Output) -> None:
    """Show what a graph holds. Reads its catalog only, so it is quick on any size; a live graph is
    opened for reading, which takes as long as it takes to replay its log.
    """
    from penstock.interfaces.cli._live import describe_live, live_text
    from penstock.interfaces.cli._output import show
    from penstock.interfaces.cli._summary import as_text, describe
    from penstock.interfaces.opening import is_live
    from penstock.store.catalog import read_catalog

    if is_live(graph):
        data = describe_live(graph)
        show("" if output.json else live_text(data), data, as_json=output.json)
        return
    data = describe(read_catalog(graph), graph)
    show("" if output.json else as_text(data), data, as_json=output.json)
