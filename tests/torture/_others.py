"""Plain spellings of algorithms that the tests of these algorithms have."""

import sys

from torture._campaign import FOLDER

sys.path.append(str(FOLDER.parent / "algorithms"))

import scan_making
from test_clustering import among_neighbours
from test_color import shuffled
from test_k_truss import expected_trussness
from test_label_propagation import plainly
from test_radius import crossing
from test_simulations import circuit, heat, neurons
from test_two_hop import paths_of, sizes_of

__all__ = [
    "among_neighbours",
    "circuit",
    "crossing",
    "expected_trussness",
    "heat",
    "neurons",
    "paths_of",
    "plainly",
    "scan_making",
    "shuffled",
    "sizes_of",
]
