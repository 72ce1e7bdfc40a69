"""Other spellings of a vertex program, one file each."""
