"""Where kernels run: compiled on the CPU, or as a slow and obvious reference."""
