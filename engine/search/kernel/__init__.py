"""The parts of the compiled tree: declarations with code, from which `engine.search._tree` is built.

In order of dependence: `node_memory` (blocks of memory), `node` (records), `graph` (node index, references),
`lock` and `flight` (threads), `prune` (freeing memory), `backup` (node statistics and proofs), `select`
(PUCT), `expand` (moves and priors), `leaf` (rules and solver), `noise`, `state` (of tree and threads),
`descend` (from the root to a leaf), `simulate` (one simulation; start reading here). `root` and `inspect`
serve the Python interface. Functions take a `NodeMemory` if they only read and write records, a `Graph` if
they may allocate or free nodes.
"""
