"""How degree-aware lists are cut up: parts, chunks, indexes.

A list lies in a chunk of ``SIZES[c]`` entries of the pool of neighbours, its index in a
chunk of ``INDEX_SIZES[c]`` slots of the pool of slots (twice that in a multigraph). A freed chunk
is kept by the part for the next list of that size: its first two words lead to the next free one
(plus one; 0 ends). New chunks are cut from an extent that the part has taken from the top of the
pool.
"""

from __future__ import annotations

import numpy as np

#: Parts that the vertices are dealt to, in blocks of 64, so that no two parts share a cache line.
PART_BITS = 4
PARTS = 1 << PART_BITS
BLOCK_BITS = 6
#: Entries of the chunks: two sizes to each power of two. Class 0 is no chunk.
SIZES = np.array([0, *(s for k in range(2, 32) for s in (1 << k, 3 << (k - 1)))], np.uint64)
#: Slots of an index for a list that fills its chunk: loaded to 0.9 then.
INDEX_SIZES = ((SIZES * np.uint64(10) + np.uint64(8)) // np.uint64(9)).astype(np.uint64)
CLASSES = len(SIZES)
#: A chunk may be cut from one that is up to this number of classes larger.
SPLIT_CLASSES = 16
#: What a part takes from the top of a pool at a time.
EXTENT = np.uint64(1 << 14)
#: The longest probe distance, plus one.
MOST_DISTANCE = np.uint64(126)
#: From this class on an index has places of 32 bits, and no room for hashes.
WIDE_CLASS = int(np.searchsorted(SIZES, 1 << 24))
#: As a place in a list: not there.
NOWHERE = np.uint64(0xFFFFFFFFFFFFFFFF)
#: Entries that a search compares at once. It may look this far beyond the end of a list.
AT_ONCE = 16
#: Words that keep what two parts write apart by two cache lines.
APART = 16
