"""What managers say and expect, a file each: commands as values, their parsing, how answers are written."""
