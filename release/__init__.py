"""Building, checking and playing the packed brain; for maintainers, never packed itself."""
