"""Penstock as a backend of NetworkX: ``nx.pagerank(G, backend="penstock")``.

``info`` says what there is and imports nothing; ``backend`` is what NetworkX calls; ``listed`` and
``stored`` are graphs as NetworkX's functions take them; the other modules are those functions.
"""
