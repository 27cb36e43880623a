"""The parts of the compiled solver: declarations with code, from which `engine.threats._solver` is built.

In order of dependence: `masks` (fives and fours of a board's lines), `state` (what a solver holds, its
budget), `table` (what it remembers), `vcf`, `refute` (where a win by fours can be spoilt), `vct`, `solve`
(whole questions).
"""
