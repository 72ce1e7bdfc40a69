"""Runs over several workers that share nothing but messages."""
