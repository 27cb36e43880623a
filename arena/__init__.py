"""Games between Gomocup brains: processes, managers, a referee, openings, matches and their statistics.

Nothing here needs torch, a net or the protocol of our own brain: a player is a process, or an object given by
the caller.
"""
