# cython: language_level=3
"""Memory of one tree: blocks of 16-byte units, handed out from chunks, within a bound.

A freed block goes to the list of its size. Blocks never cross chunks. Nothing here knows what a block holds.
"""
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

cdef enum:
    CHUNK_BITS = 14         # 16,384 units, 256 KiB a chunk
    CHUNK_UNITS = 16384
    UNIT_BYTES = 16
    MAX_BLOCK = 1040        # units; the largest block, 512 edges, takes 1024

# A place in the arena: chunk << CHUNK_BITS | 16-byte unit within it; 0 is nothing.
ctypedef uint32_t Ref

cdef struct Arena:
    char** chunks
    int n_chunks            # taken from the system
    int max_chunks          # allowed
    int wanted_chunks       # allowed from the next `empty` on
    int chunk               # in use; -1 before the first one
    int unit                # next free unit of the chunk in use
    int64_t free_units      # in free lists
    Ref free_lists[1040]    # by size in units


cdef inline char* at(const Arena* arena, Ref ref) noexcept nogil:
    return arena.chunks[ref >> CHUNK_BITS] + (<int64_t>(ref & (CHUNK_UNITS - 1))) * UNIT_BYTES


cdef inline int64_t fresh_units(const Arena* arena) noexcept nogil:
    """Units that were never handed out since the arena was emptied."""
    return <int64_t>(arena.max_chunks - 1 - arena.chunk) * CHUNK_UNITS + CHUNK_UNITS - arena.unit


cdef inline void give(Arena* arena, Ref ref, int units) noexcept nogil:
    """Free a block; 0 is none."""
    if ref == 0 or units >= MAX_BLOCK:
        return
    (<Ref*>at(arena, ref))[0] = arena.free_lists[units]
    arena.free_lists[units] = ref
    arena.free_units += units


cdef inline bint next_chunk(Arena* arena) noexcept nogil:
    """Go on in the next chunk, from the system if need be."""
    cdef char* taken
    if arena.chunk + 1 >= arena.n_chunks:
        if arena.n_chunks >= arena.max_chunks:
            return False
        taken = <char*>malloc(CHUNK_UNITS * UNIT_BYTES)
        if taken == NULL:
            return False
        arena.chunks[arena.n_chunks] = taken
        arena.n_chunks += 1
    if arena.chunk >= 0 and arena.unit < CHUNK_UNITS:
        give(arena, (<Ref>arena.chunk << CHUNK_BITS) | <Ref>arena.unit, CHUNK_UNITS - arena.unit)
    arena.chunk += 1
    arena.unit = 1 if arena.chunk == 0 else 0     # reference 0 means nothing
    return True


cdef inline Ref fresh_block(Arena* arena, int units) noexcept nogil:
    """A block that was never handed out; 0 when there is none."""
    cdef Ref ref
    if arena.unit + units > CHUNK_UNITS and not next_chunk(arena):
        return 0
    ref = (<Ref>arena.chunk << CHUNK_BITS) | <Ref>arena.unit
    arena.unit += units
    return ref


cdef inline Ref used_block(Arena* arena, int units) noexcept nogil:
    """A block that was freed, if need be cut from the largest, so that common sizes last; 0 when there is none."""
    cdef Ref ref
    cdef int k = units
    if arena.free_lists[k] == 0:
        k = MAX_BLOCK - 1
        while k > units and arena.free_lists[k] == 0:
            k -= 1
        if k == units:
            return 0
    ref = arena.free_lists[k]
    arena.free_lists[k] = (<Ref*>at(arena, ref))[0]
    arena.free_units -= k
    if k > units:
        give(arena, ref + <Ref>units, k - units)
    return ref


cdef inline void empty(Arena* arena) noexcept nogil:
    """Take all blocks back; chunks stay for reuse."""
    memset(arena.free_lists, 0, sizeof(arena.free_lists))
    arena.free_units = 0
    arena.chunk = -1
    arena.unit = CHUNK_UNITS


cdef inline bint set_bound(Arena* arena, int64_t memory_bytes) noexcept nogil:
    """Allow so much memory; less than what is taken takes effect with `keep_to_bound`. False without memory."""
    cdef int wanted = <int>(memory_bytes // (CHUNK_UNITS * UNIT_BYTES))
    cdef int places = wanted if wanted > arena.n_chunks else arena.n_chunks
    cdef char** chunks = <char**>calloc(places, sizeof(char*))
    if chunks == NULL:
        return False
    if arena.n_chunks:
        memcpy(chunks, arena.chunks, arena.n_chunks * sizeof(char*))
    free(arena.chunks)
    arena.chunks = chunks
    arena.wanted_chunks = wanted
    arena.max_chunks = places
    return True


cdef inline void give_chunks_back(Arena* arena, int kept) noexcept nogil:
    """Return all chunks but the first `kept` to the system; no block lies in these."""
    while arena.n_chunks > kept:
        arena.n_chunks -= 1
        free(arena.chunks[arena.n_chunks])


cdef inline void keep_to_bound(Arena* arena) noexcept nogil:
    """Empty the arena and return what is beyond its bound."""
    give_chunks_back(arena, arena.wanted_chunks)
    arena.max_chunks = arena.wanted_chunks
    empty(arena)
