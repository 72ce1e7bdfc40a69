"""What the backend offers. Imports nothing, as ``import networkx`` imports it."""

from typing import Any

#: How every note begins.
STREAMS, LOADS = "Streams.", "Loads the lists."
#: The module of each function, and what a user should know of it beyond NetworkX's own words.
FUNCTIONS: dict[str, tuple[str, str]] = {
    "betweenness_centrality": (
        "centrality",
        "Streams. By weight, or with parallel edges, loads the lists.",
    ),
    "closeness_centrality": (
        "centrality",
        "Streams. By distance, or of one node, loads the lists.",
    ),
    "degree_centrality": ("centrality", "Streams."),
    "edge_betweenness_centrality": ("centrality", "Loads the lists."),
    "in_degree_centrality": ("centrality", "Streams."),
    "out_degree_centrality": ("centrality", "Streams."),
    "average_clustering": ("cluster", "Streams. Directed, or by weight, loads the lists."),
    "clustering": ("cluster", "Streams. Directed, or by weight, loads the lists."),
    "transitivity": ("cluster", "Streams. Directed, loads the lists."),
    "triangles": ("cluster", "Streams."),
    "greedy_color": (
        "coloring",
        "Loads the lists. A function as strategy gets a graph of NetworkX.",
    ),
    "asyn_lpa_communities": ("community", "Loads the lists."),
    "fast_label_propagation_communities": ("community", "Loads the lists."),
    "label_propagation_communities": ("community", "Loads the lists."),
    "connected_components": ("components", "Streams."),
    "is_connected": ("components", "Streams."),
    "is_strongly_connected": ("components", "Streams."),
    "is_weakly_connected": ("components", "Streams."),
    "node_connected_component": ("components", "Streams."),
    "number_connected_components": ("components", "Streams."),
    "number_strongly_connected_components": ("components", "Streams."),
    "number_weakly_connected_components": ("components", "Streams."),
    "strongly_connected_components": (
        "components",
        "Streams. Of a graph of Penstock's, in the order of their first nodes.",
    ),
    "weakly_connected_components": ("components", "Streams."),
    "core_number": ("core", "Streams."),
    "k_core": ("core", "Streams."),
    "k_corona": ("core", "Loads the lists."),
    "k_crust": ("core", "Streams."),
    "k_shell": ("core", "Streams."),
    "k_truss": ("core", "Streams. The truss itself comes to memory."),
    "center": ("distances", "Loads the lists. As diameter."),
    "diameter": ("distances", "Loads the lists. Uses bounds, asked for or not, unless by weight."),
    "eccentricity": ("distances", "Loads the lists."),
    "periphery": ("distances", "Loads the lists. As diameter."),
    "radius": ("distances", "Loads the lists. As diameter."),
    "ego_graph": (
        "ego",
        "Streams. By negative weights, loads the lists; by weight and with directions left out, "
        "makes a graph of NetworkX.",
    ),
    "is_empty": ("functions", "Streams."),
    "number_of_selfloops": ("functions", "Streams."),
    "is_isolate": ("isolate", "Streams."),
    "isolates": ("isolate", "Streams."),
    "number_of_isolates": ("isolate", "Streams."),
    "pagerank": (
        "link_analysis",
        "Streams. From a start that is given, or with numbers (weights, too) below 0, loads the "
        "lists.",
    ),
    "average_shortest_path_length": (
        "paths_generic",
        "Streams. By weights of NetworkX, negative or infinite ones, or another method than "
        "Dijkstra's, loads the lists.",
    ),
    "has_path": ("paths_generic", "Streams."),
    "shortest_path": ("paths_generic", "Loads the lists."),
    "shortest_path_length": (
        "paths_generic",
        "Streams. To a target alone, between all pairs, by negative weights, or by Bellman and "
        "Ford's method, loads the lists.",
    ),
    "all_pairs_bellman_ford_path": ("paths_negative", "Loads the lists."),
    "all_pairs_bellman_ford_path_length": ("paths_negative", "Loads the lists."),
    "bellman_ford_path": ("paths_negative", "Loads the lists."),
    "bellman_ford_path_length": ("paths_negative", "Loads the lists."),
    "bellman_ford_predecessor_and_distance": ("paths_negative", "Loads the lists."),
    "single_source_bellman_ford": ("paths_negative", "Loads the lists."),
    "single_source_bellman_ford_path": ("paths_negative", "Loads the lists."),
    "single_source_bellman_ford_path_length": ("paths_negative", "Loads the lists."),
    "all_pairs_shortest_path": ("paths_unweighted", "Loads the lists."),
    "all_pairs_shortest_path_length": ("paths_unweighted", "Loads the lists."),
    "bidirectional_shortest_path": ("paths_unweighted", "Loads the lists."),
    "predecessor": ("paths_unweighted", "Loads the lists."),
    "single_source_shortest_path": ("paths_unweighted", "Loads the lists."),
    "single_source_shortest_path_length": ("paths_unweighted", "Streams."),
    "single_target_shortest_path": ("paths_unweighted", "Loads the lists."),
    "single_target_shortest_path_length": ("paths_unweighted", "Loads the lists."),
    "all_pairs_dijkstra": ("paths_weighted", "Loads the lists."),
    "all_pairs_dijkstra_path": ("paths_weighted", "Loads the lists."),
    "all_pairs_dijkstra_path_length": ("paths_weighted", "Loads the lists."),
    "bidirectional_dijkstra": ("paths_weighted", "Loads the lists."),
    "dijkstra_path": ("paths_weighted", "Loads the lists."),
    "dijkstra_path_length": (
        "paths_weighted",
        "Streams. By negative weights, loads the lists.",
    ),
    "dijkstra_predecessor_and_distance": ("paths_weighted", "Loads the lists."),
    "multi_source_dijkstra": ("paths_weighted", "Loads the lists."),
    "multi_source_dijkstra_path": ("paths_weighted", "Loads the lists."),
    "multi_source_dijkstra_path_length": (
        "paths_weighted",
        "Streams. By negative weights, loads the lists.",
    ),
    "single_source_dijkstra": ("paths_weighted", "Loads the lists."),
    "single_source_dijkstra_path": ("paths_weighted", "Loads the lists."),
    "single_source_dijkstra_path_length": (
        "paths_weighted",
        "Streams. By negative weights, loads the lists.",
    ),
    "maximum_spanning_edges": ("spanning", "Streams. The forest itself comes to memory."),
    "maximum_spanning_tree": ("spanning", "Streams. The forest itself comes to memory."),
    "minimum_spanning_edges": ("spanning", "Streams. The forest itself comes to memory."),
    "minimum_spanning_tree": ("spanning", "Streams. The forest itself comes to memory."),
    "ancestors": ("traversal", "Loads the lists."),
    "bfs_edges": ("traversal", "Loads the lists."),
    "bfs_layers": ("traversal", "Loads the lists."),
    "bfs_predecessors": ("traversal", "Loads the lists."),
    "bfs_successors": ("traversal", "Loads the lists."),
    "bfs_tree": ("traversal", "Loads the lists."),
    "descendants": ("traversal", "Streams."),
    "descendants_at_distance": ("traversal", "Streams."),
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
