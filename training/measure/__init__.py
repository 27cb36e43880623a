"""How strong something is: arena, gate, matches with brains, opponents, ratings."""
