"""Evaluators: nets, and substitutes for tests and measurements."""
