"""A GPU as a device. Imported only when one is asked for."""
