"""The changing sibling of the store: lists that grow and shrink, their log, their compaction."""
