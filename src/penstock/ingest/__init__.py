"""From any input to a graph, in bounded memory."""
