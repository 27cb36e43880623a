"""Faults that are put into a copy of the repository on purpose, to see which of them the tests notice."""
