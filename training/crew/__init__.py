"""Processes that play: the worker, the crew of them, how many, how fast."""
