"""Processes that play: the worker, the pool of them, how many, how fast."""
