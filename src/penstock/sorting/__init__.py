"""Sorting more rows than memory holds."""
