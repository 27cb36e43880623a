"""Files that are there whole or not at all, and locks on directories."""
