"""Experiments of the papers, repeated on this machine: one file a suite, found by the command."""
