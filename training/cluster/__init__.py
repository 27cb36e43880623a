"""Self-play on many machines, by Ray: the only place that imports ray."""
