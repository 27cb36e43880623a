"""Measurement of strength: matches, gate, ratings, hold-outs, surveys."""
