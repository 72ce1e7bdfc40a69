"""Running programs over a graph: the verbs, what a run leaves behind, and what it returns."""
