"""Test suites for extensions of Penstock."""
