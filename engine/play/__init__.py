"""A game at the terminal: python -m engine play. The only part of the engine that talks to a person."""
