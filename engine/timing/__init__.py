"""Time management: clock, limits, deadlines and their change during a search."""
