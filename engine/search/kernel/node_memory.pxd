# cython: language_level=3
"""Memory of one tree: blocks of 16-byte units, cut from chunks, up to a limit.

A freed block is joined with those beside it that are free, and goes to the list of its size. It holds its size at both
ends, and both ends have a bit in `ends` (boundary tags: D. E. Knuth, "The Art of Computer Programming", 2.5). Blocks
never cross chunks. This file does not know what a block holds."""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

cdef extern from "bits.h" nogil:
    int lowest_bit "tengen_lowest64"(uint64_t word)

cdef enum:
    CHUNK_BITS = 14         # 16,384 units, 256 KiB a chunk
    CHUNK_UNITS = 16384
    UNIT_BYTES = 16
    MAX_BLOCK = 1040        # units; the largest block, 512 edges, takes 1024
    LIST_WORDS = 17         # 64 lists each
    END_WORDS = 256         # of `ends` for a chunk
    USABLE_BLOCK = 5        # units; holds a node

# Address of a block: chunk << CHUNK_BITS | 16-byte unit within it; 0 is none.
ctypedef uint32_t Ref

cdef struct FreeBlock:      # at the begin of a freed block
    Ref next                # of the same size
    Ref previous
    uint32_t units
    uint32_t last_units     # of a block of one unit; a larger one has it at the end of its last unit

cdef struct NodeMemory:
    char** chunks
    int n_chunks            # allocated from the system
    int max_chunks          # allowed
    int limit_chunks        # allowed from the next `apply_limit` on
    int chunk               # in use; -1 before the first one
    int unit                # next free unit of the chunk in use
    int64_t free_units      # in free lists
    int64_t usable_units    # of these in blocks of at least USABLE_BLOCK
    Ref free_lists[1040]    # by size in units
    uint64_t filled[17]     # bit k: list k holds a block
    uint64_t* ends          # a bit for each unit of the chunks: first or last one of a freed block


cdef inline char* block_at(const NodeMemory* memory, Ref ref) noexcept nogil:
    return memory.chunks[ref >> CHUNK_BITS] + (<int64_t>(ref & (CHUNK_UNITS - 1))) * UNIT_BYTES


cdef inline int64_t unused_units(const NodeMemory* memory) noexcept nogil:
    """Return the units that were not allocated since the last reset."""
    return <int64_t>(memory.max_chunks - 1 - memory.chunk) * CHUNK_UNITS + CHUNK_UNITS - memory.unit


cdef inline FreeBlock* freed_at(const NodeMemory* memory, Ref ref) noexcept nogil:
    return <FreeBlock*>block_at(memory, ref)


cdef inline bint is_end(const NodeMemory* memory, Ref ref) noexcept nogil:
    """Return whether a unit is the first or last one of a freed block."""
    return (memory.ends[ref >> 6] >> (ref & 63)) & 1


cdef inline void link_freed(NodeMemory* memory, Ref ref, int units) noexcept nogil:
    """Put a block that has no free neighbours into the list of its size."""
    cdef FreeBlock* block = freed_at(memory, ref)
    cdef Ref last = ref + <Ref>units - 1
    block.next = memory.free_lists[units]
    block.previous = 0
    block.units = <uint32_t>units
    freed_at(memory, last).last_units = <uint32_t>units
    if block.next != 0:
        freed_at(memory, block.next).previous = ref
    memory.free_lists[units] = ref
    memory.filled[units >> 6] |= <uint64_t>1 << (units & 63)
    memory.ends[ref >> 6] |= <uint64_t>1 << (ref & 63)
    memory.ends[last >> 6] |= <uint64_t>1 << (last & 63)
    memory.free_units += units
    if units >= USABLE_BLOCK:
        memory.usable_units += units


cdef inline void unlink_freed(NodeMemory* memory, Ref ref, int units) noexcept nogil:
    """Take a block out of the list of its size."""
    cdef FreeBlock* block = freed_at(memory, ref)
    cdef Ref last = ref + <Ref>units - 1
    if block.previous != 0:
        freed_at(memory, block.previous).next = block.next
    else:
        memory.free_lists[units] = block.next
        if block.next == 0:
            memory.filled[units >> 6] &= ~(<uint64_t>1 << (units & 63))
    if block.next != 0:
        freed_at(memory, block.next).previous = block.previous
    memory.ends[ref >> 6] &= ~(<uint64_t>1 << (ref & 63))
    memory.ends[last >> 6] &= ~(<uint64_t>1 << (last & 63))
    memory.free_units -= units
    if units >= USABLE_BLOCK:
        memory.usable_units -= units


cdef inline void free_block(NodeMemory* memory, Ref ref, int units) noexcept nogil:
    """Free a block; do nothing for 0."""
    cdef Ref end
    cdef int more
    if ref == 0 or units >= MAX_BLOCK:
        return
    if ref % CHUNK_UNITS != 0 and is_end(memory, ref - 1):
        more = <int>freed_at(memory, ref - 1).last_units
        if units + more < MAX_BLOCK:
            ref -= <Ref>more
            unlink_freed(memory, ref, more)
            units += more
    end = ref + <Ref>units
    if end % CHUNK_UNITS != 0 and is_end(memory, end):
        more = <int>freed_at(memory, end).units
        if units + more < MAX_BLOCK:
            unlink_freed(memory, end, more)
            units += more
    link_freed(memory, ref, units)


cdef inline bint use_next_chunk(NodeMemory* memory) noexcept nogil:
    """Continue in the next chunk; allocate it if there is none. False without memory."""
    cdef char* taken
    if memory.chunk + 1 >= memory.n_chunks:
        if memory.n_chunks >= memory.max_chunks:
            return False
        taken = <char*>malloc(CHUNK_UNITS * UNIT_BYTES)
        if taken == NULL:
            return False
        memory.chunks[memory.n_chunks] = taken
        memory.n_chunks += 1
    if memory.chunk >= 0 and memory.unit < CHUNK_UNITS:
        free_block(memory, (<Ref>memory.chunk << CHUNK_BITS) | <Ref>memory.unit, CHUNK_UNITS - memory.unit)
    memory.chunk += 1
    memory.unit = 1 if memory.chunk == 0 else 0     # reference 0 means nothing
    return True


cdef inline Ref allocate_fresh(NodeMemory* memory, int units) noexcept nogil:
    """Allocate a block from the current chunk; 0 when there is none."""
    cdef Ref ref
    if memory.unit + units > CHUNK_UNITS and not use_next_chunk(memory):
        return 0
    ref = (<Ref>memory.chunk << CHUNK_BITS) | <Ref>memory.unit
    memory.unit += units
    return ref


cdef inline int smallest_freed(const NodeMemory* memory, int units) noexcept nogil:
    """Return the size of the smallest freed block of at least so many units; 0 without one."""
    cdef int word = units >> 6
    cdef uint64_t found
    if units >= MAX_BLOCK:
        return 0
    found = memory.filled[word] & (~<uint64_t>0 << (units & 63))
    while found == 0:
        word += 1
        if word == LIST_WORDS:
            return 0
        found = memory.filled[word]
    return 64 * word + lowest_bit(found)


cdef inline Ref allocate_freed(NodeMemory* memory, int units) noexcept nogil:
    """Allocate a freed block, cut from the smallest that is large enough; 0 when there is none."""
    cdef Ref ref
    cdef int k = smallest_freed(memory, units)
    if k == 0:
        return 0
    ref = memory.free_lists[k]
    unlink_freed(memory, ref, k)
    if k > units:
        link_freed(memory, ref + <Ref>units, k - units)
    return ref


cdef inline void reset_memory(NodeMemory* memory) noexcept nogil:
    """Free all blocks; keep the chunks for reuse."""
    memset(memory.free_lists, 0, sizeof(memory.free_lists))
    memset(memory.filled, 0, sizeof(memory.filled))
    if memory.chunk >= 0:
        memset(memory.ends, 0, (memory.chunk + 1) * END_WORDS * sizeof(uint64_t))
    memory.free_units = memory.usable_units = 0
    memory.chunk = -1
    memory.unit = CHUNK_UNITS


cdef inline bint set_limit(NodeMemory* memory, int64_t memory_bytes) noexcept nogil:
    """Set the limit; one below what is allocated takes effect with `apply_limit`. False without memory."""
    cdef int wanted = <int>(memory_bytes // (CHUNK_UNITS * UNIT_BYTES))
    cdef int places = wanted if wanted > memory.n_chunks else memory.n_chunks
    cdef char** chunks = <char**>calloc(places, sizeof(char*))
    cdef uint64_t* ends = <uint64_t*>calloc(places, END_WORDS * sizeof(uint64_t))
    if chunks == NULL or ends == NULL:
        free(chunks)
        free(ends)
        return False
    if memory.n_chunks:
        memcpy(chunks, memory.chunks, memory.n_chunks * sizeof(char*))
        memcpy(ends, memory.ends, memory.n_chunks * END_WORDS * sizeof(uint64_t))
    free(memory.chunks)
    free(memory.ends)
    memory.chunks = chunks
    memory.ends = ends
    memory.limit_chunks = wanted
    memory.max_chunks = places
    return True


cdef inline void free_chunks(NodeMemory* memory, int kept) noexcept nogil:
    """Return all chunks but the first `kept` to the system; these must hold no block."""
    while memory.n_chunks > kept:
        memory.n_chunks -= 1
        free(memory.chunks[memory.n_chunks])


cdef inline void apply_limit(NodeMemory* memory) noexcept nogil:
    """Free all blocks, and return chunks beyond the limit to the system."""
    free_chunks(memory, memory.limit_chunks)
    memory.max_chunks = memory.limit_chunks
    reset_memory(memory)
