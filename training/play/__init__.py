"""Games of self-play: the game, its root search, evaluators, leaves in batches, openings."""
