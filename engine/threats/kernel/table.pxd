# cython: language_level=3
"""Transposition tables of bounded size; their entries are proven and serve later calls with any budget."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from engine.threats.kernel.state cimport NO_WIN, ProofEntry, SolverState, VcfEntry

cdef extern from "cpu.h" nogil:
    void prefetch "TENGEN_PREFETCH"(const void* place)


cdef inline void prefetch_vcf(SolverState* s, uint64_t key) noexcept nogil:
    """Prefetch what `probe_vcf` will read."""
    prefetch(&s.vcf_table[key & s.mask & ~(<uint64_t>1)])


cdef inline void prefetch_proof(SolverState* s, uint64_t key) noexcept nogil:
    """Prefetch what `probe_proof` will read."""
    prefetch(&s.proof_table[key & s.mask])


cdef inline VcfEntry* probe_vcf(SolverState* s, uint64_t key) noexcept nogil:
    cdef VcfEntry* e = &s.vcf_table[key & s.mask & ~(<uint64_t>1)]
    if e.key == key:
        return e
    if e[1].key == key:
        return e + 1
    return NULL


cdef inline void store_vcf(SolverState* s, uint64_t key, int failed, int fours, int move, int64_t work) noexcept nogil:
    """Tighten the bounds of a position. Of two entries the first keeps the most work, the second is the latest."""
    cdef VcfEntry* e = probe_vcf(s, key)
    cdef uint32_t cost = <uint32_t>work if work < 0xFFFFFFFFLL else <uint32_t>0xFFFFFFFFU
    if e == NULL:
        e = &s.vcf_table[key & s.mask & ~(<uint64_t>1)]
        if e.key != 0:
            if cost >= e.work:
                e[1] = e[0]
            else:
                e.work -= e.work >> 3   # age, so that old positions are replaced in the end
                e += 1
        e.key = key
        e.failed = 0
        e.fours = NO_WIN
        e.move = 0
        e.work = 0
    if failed > e.failed:
        e.failed = <uint8_t>failed
    if fours < e.fours:
        e.fours = <uint8_t>fours
        e.move = <uint16_t>move
    if cost > e.work:
        e.work = cost


cdef inline void probe_proof(SolverState* s, uint64_t key, ProofEntry* out) noexcept nogil:
    """Copy the entry of a position; without one both numbers are 1 and work is 0."""
    cdef const ProofEntry* e = &s.proof_table[key & s.mask]
    if e.key == key:
        out[0] = e[0]
        return
    memset(out, 0, sizeof(ProofEntry))
    out.key = key
    out.proof = 1
    out.disproof = 1


cdef inline void store_proof(SolverState* s, ProofEntry* entry, int64_t work) noexcept nogil:
    """Store an entry, unless another position with more work is there; that one then ages."""
    cdef ProofEntry* e = &s.proof_table[entry.key & s.mask]
    work += entry.work + 1
    entry.work = <uint32_t>work if work < 0xFFFFFFFFLL else <uint32_t>0xFFFFFFFFU
    if e.key == entry.key or e.work <= entry.work:
        e[0] = entry[0]
    else:
        e.work -= (e.work >> 2) + 1
