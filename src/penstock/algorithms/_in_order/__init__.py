"""Kernels over whole lists in memory that visit nodes in a given order, and break ties by it.

NetworkX's results depend on the order of its nodes and of their neighbours. Where they do, its
backend (``interfaces/nx``) calls these kernels; elsewhere it calls the algorithms beside them.
"""
