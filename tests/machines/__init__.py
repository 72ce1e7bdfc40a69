"""Machines as network namespaces, clusters on them, and what can happen to either."""
