"""The parts of the compiled solver: declarations with code, from which `engine.threats._solver` is built.

In order of dependence: `masks` (fives and fours of a board's lines), `state` (data of a solver, its budget),
`table` (transposition tables), `vcf`, `refute` (defences against a VCF), `vct`, `solve` (entry points).
"""
