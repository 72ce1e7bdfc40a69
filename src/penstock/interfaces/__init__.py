"""How people and programs reach Penstock."""
