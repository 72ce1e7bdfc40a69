"""The version of Penstock; the package takes it from here."""

__version__ = "0.1.0"
