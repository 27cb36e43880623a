# cython: language_level=3
"""What a solver remembers of positions, in tables of bounded size: facts, good for later calls with any budget."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from engine.threats.kernel.state cimport NEVER, FourEntry, ProofEntry, SolverState

cdef extern from "cpu.h" nogil:
    void prefetch "TENGEN_PREFETCH"(const void* place)


cdef inline void await_four(SolverState* s, uint64_t key) noexcept nogil:
    """Let the processor fetch what `find_four` will read."""
    prefetch(&s.four_table[key & s.mask & ~(<uint64_t>1)])


cdef inline void await_proof(SolverState* s, uint64_t key) noexcept nogil:
    """Let the processor fetch what `load_proof` will read."""
    prefetch(&s.proof_table[key & s.mask])


cdef inline FourEntry* find_four(SolverState* s, uint64_t key) noexcept nogil:
    cdef FourEntry* e = &s.four_table[key & s.mask & ~(<uint64_t>1)]
    if e.key == key:
        return e
    if e[1].key == key:
        return e + 1
    return NULL


cdef inline void keep_four(SolverState* s, uint64_t key, int failed, int fours, int move, int64_t work) noexcept nogil:
    """Add a fact; of two entries, the first keeps the dearer position, the second the latest."""
    cdef FourEntry* e = find_four(s, key)
    cdef uint32_t cost = <uint32_t>work if work < 0xFFFFFFFFLL else <uint32_t>0xFFFFFFFFU
    if e == NULL:
        e = &s.four_table[key & s.mask & ~(<uint64_t>1)]
        if e.key != 0:
            if cost >= e.work:
                e[1] = e[0]
            else:
                e.work -= e.work >> 3   # age, so that old positions make room at last
                e += 1
        e.key = key
        e.failed = 0
        e.fours = NEVER
        e.move = 0
        e.work = 0
    if failed > e.failed:
        e.failed = <uint8_t>failed
    if fours < e.fours:
        e.fours = <uint8_t>fours
        e.move = <uint16_t>move
    if cost > e.work:
        e.work = cost


cdef inline void load_proof(SolverState* s, uint64_t key, ProofEntry* out) noexcept nogil:
    """Copy what is known of a position; an unknown one has both numbers 1 and no work."""
    cdef const ProofEntry* e = &s.proof_table[key & s.mask]
    if e.key == key:
        out[0] = e[0]
        return
    memset(out, 0, sizeof(ProofEntry))
    out.key = key
    out.proof = 1
    out.disproof = 1


cdef inline void keep_proof(SolverState* s, ProofEntry* entry, int64_t work) noexcept nogil:
    """Store an entry, unless its place holds another position that cost more; that one then ages."""
    cdef ProofEntry* e = &s.proof_table[entry.key & s.mask]
    work += entry.work + 1
    entry.work = <uint32_t>work if work < 0xFFFFFFFFLL else <uint32_t>0xFFFFFFFFU
    if e.key == entry.key or e.work <= entry.work:
        e[0] = entry[0]
    else:
        e.work -= (e.work >> 2) + 1
