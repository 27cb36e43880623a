"""The parts of the compiled tree: declarations with code, from which `engine.search._tree` is built.

In order of dependence: `arena` (memory), `node` (records), `graph` (nodes by position, references), `room`
(what goes when memory is short), `accounts` (what the sums of nodes are made of), `select`, `expand`,
`settle` (rules and solver), `noise`, `walk` (one simulation from top to bottom: begin to read there); `root`
and `inspect` serve the Python face. Functions take an `Arena` where they only read and write records, a
`Graph` where they may take or free memory.
"""
