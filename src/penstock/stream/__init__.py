"""Pages through memory: budget, cache, reading, blocks. Knows bytes, not algorithms."""
