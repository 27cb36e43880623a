"""Tables of faults, one module a set: `SHARE` that must be caught, and `MUTATIONS`."""
