"""What a graph that changes should be, in dictionaries."""

from __future__ import annotations


class Model:
    """What a graph should be."""

    def __init__(self, directed, multigraph):
        self.directed, self.multigraph = directed, multigraph
        self.vertices, self.edges = {}, {}

    def key(self, u, v):
        return (u, v) if self.directed or u <= v else (v, u)

    def update(self, src, dst, adds, weights):
        came = went = 0
        for u, v, adding, weight in zip(src, dst, adds, weights, strict=True):
            key = self.key(u, v)
            if not adding:
                went += len(self.edges.pop(key, ()))
                continue
            self.vertices |= {u: None, v: None}
            if key not in self.edges or self.multigraph:
                came += 1
                self.edges.setdefault(key, []).append(weight)
            else:
                self.edges[key] = [weight]
        return came, went

    def listed(self):
        return sorted((*key, w) for key, some in self.edges.items() for w in some)


def check(graph, model):
    assert graph.num_vertices == len(model.vertices)
    assert graph.num_edges == sum(map(len, model.edges.values()))
    assert graph.ids.tolist() == sorted(model.vertices)
    src, dst, *rest = (each.tolist() for each in graph.to_edges())
    weight = rest[0] if rest else [1] * len(src)
    rows = ((*model.key(u, v), w) for u, v, w in zip(src, dst, weight, strict=True))
    assert sorted(rows) == model.listed()
    for vertex in list(model.vertices)[:5]:
        out = sorted(
            [v for (u, v), some in model.edges.items() if u == vertex for _ in some]
            + ([] if model.directed else [
                u for (u, v), some in model.edges.items() if v == vertex and u != v for _ in some
            ])
        )  # fmt: skip
        assert sorted(graph.neighbors(vertex).tolist()) == out
        assert graph.degree(vertex) == len(out)
