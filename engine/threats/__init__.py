"""Solver of forced wins: by fours (VCF), by fours and threes (VCT)."""
