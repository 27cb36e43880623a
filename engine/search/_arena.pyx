# cython: language_level=3
"""The tree's memory.

Nodes make a graph: moves in another order lead to the same node (`find`), which lives as long as a move or the root
refers to it. The arena hands out 16-byte units from chunks; freed blocks go to lists by size. A new root costs O(1):
what is left behind is buried as a whole and freed bit by bit when room is needed. When the arena is full, the least
visited grandchildren are stripped; when only fragments are left, everything below the root's children goes.
"""
from libc.stdint cimport int64_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

cdef enum:
    RESERVE_UNITS = 4096    # free units before a simulation begins; enough for all but absurdly long chains


cdef class Arena:
    """Nodes, moves and statistics of one tree, within a bound of memory."""

    def __cinit__(self, params=None, memory_bytes=67_108_864, solver=None):
        self.common_units = NODE_UNITS
        self.memory_bytes = memory_bytes
        self.forget()

    def __dealloc__(self):
        cdef int i
        for i in range(self.n_chunks):
            free(self.chunks[i])
        free(self.chunks)
        free(self.buckets)

    # --- blocks --------------------------------------------------------------------------------------------

    cdef bint next_chunk(self) noexcept nogil:
        """Go on in the next chunk, from the system if need be."""
        cdef char* fresh
        if self.chunk + 1 >= self.n_chunks:
            if self.n_chunks >= self.max_chunks:
                return False
            fresh = <char*>malloc(CHUNK_UNITS * UNIT_BYTES)
            if fresh == NULL:
                return False
            self.chunks[self.n_chunks] = fresh
            self.n_chunks += 1
        if self.chunk >= 0 and self.unit < CHUNK_UNITS:
            self.give((<Ref>self.chunk << CHUNK_BITS) | <Ref>self.unit, CHUNK_UNITS - self.unit)
        self.chunk += 1
        self.unit = 1 if self.chunk == 0 else 0     # reference 0 means nothing
        return True

    cdef Ref take(self, int units) noexcept nogil:
        """Allocate a block; 0 when there is none."""
        cdef Ref ref
        cdef int k
        if self.free_lists[units] == 0 and self.dead != 0:
            self.reclaim(4)
        if self.free_lists[units] == 0:
            if self.unit + units <= CHUNK_UNITS or self.next_chunk():
                ref = (<Ref>self.chunk << CHUNK_BITS) | <Ref>self.unit
                self.unit += units
                return ref
            while self.dead != 0 and self.free_lists[units] == 0:
                self.reclaim(16)
        k = units
        if self.free_lists[k] == 0:     # cut the largest block, so that common sizes last
            k = MAX_BLOCK - 1
            while k > units and self.free_lists[k] == 0:
                k -= 1
            if k == units:
                return 0
        ref = self.free_lists[k]
        self.free_lists[k] = (<Ref*>self.at(ref))[0]
        self.free_units -= k
        if k > units:
            self.give(ref + <Ref>units, k - units)
        return ref

    cdef void give(self, Ref ref, int units) noexcept nogil:
        """Free a block. Blocks never cross chunks, so `ref` plus units stays valid."""
        if ref == 0 or units >= MAX_BLOCK:
            return
        (<Ref*>self.at(ref))[0] = self.free_lists[units]
        self.free_lists[units] = ref
        self.free_units += units

    cdef Ref new_node(self) noexcept nogil:
        cdef Ref ref = self.take(NODE_UNITS)
        if ref != 0:
            memset(self.at(ref), 0, sizeof(Node))
            node_at(self, ref).proof_move = NO_MOVE
            node_at(self, ref).raw_win = -1
            node_at(self, ref).references = 1
            self.n_nodes += 1
        return ref

    # --- nodes by position ---------------------------------------------------------------------------------

    cdef Ref find(self, uint64_t key) noexcept nogil:
        """The node of a position; 0 if there is none."""
        cdef Ref ref
        if self.n_keyed == 0:
            return 0
        ref = self.buckets[key & <uint64_t>(self.n_buckets - 1)]
        while ref != 0 and node_at(self, ref).key != key:
            ref = node_at(self, ref).next_alike
        return ref

    cdef void enter(self, Ref ref, uint64_t key) noexcept nogil:
        """Let a node be found by its position. Without memory it is not, which costs nothing but work."""
        cdef Node* node = node_at(self, ref)
        if self.n_keyed >= self.n_buckets:
            self.more_buckets()
        if self.n_buckets == 0:
            return
        node.key = key
        node.next_alike = self.buckets[key & <uint64_t>(self.n_buckets - 1)]
        self.buckets[key & <uint64_t>(self.n_buckets - 1)] = ref
        self.n_keyed += 1

    cdef void leave(self, Ref ref) noexcept nogil:
        """Let a node be found no more."""
        cdef Node* node = node_at(self, ref)
        cdef Ref* place
        if node.key == 0:
            return
        place = &self.buckets[node.key & <uint64_t>(self.n_buckets - 1)]
        while place[0] != ref:
            place = &node_at(self, place[0]).next_alike
        place[0] = node.next_alike
        node.key = 0
        self.n_keyed -= 1

    cdef void more_buckets(self) noexcept nogil:
        cdef int64_t wanted = 2 * self.n_buckets if self.n_buckets else 1024, i
        cdef Ref* fresh = <Ref*>calloc(wanted, sizeof(Ref))
        cdef Ref* place
        cdef Ref ref, follower
        if fresh == NULL:
            return
        for i in range(self.n_buckets):
            ref = self.buckets[i]
            while ref != 0:
                follower = node_at(self, ref).next_alike
                place = &fresh[node_at(self, ref).key & <uint64_t>(wanted - 1)]
                node_at(self, ref).next_alike = place[0]
                place[0] = ref
                ref = follower
        free(self.buckets)
        self.buckets = fresh
        self.n_buckets = wanted

    # --- room for edges ------------------------------------------------------------------------------------

    cdef bint grow_stats(self, Node* node) noexcept nogil:
        """See to it that one more move can be visited."""
        cdef int room
        cdef Ref fresh
        if node.n_visited < node.stats_room:
            return True
        room = node.stats_room * 2 if node.stats_room else FIRST_ROOM
        fresh = self.take(stats_units(room))
        if fresh == 0:
            return False
        if node.stats != 0:
            memcpy(self.at(fresh), self.at(node.stats), node.n_visited * sizeof(EdgeStat))
            self.give(node.stats, stats_units(node.stats_room))
        node.stats = fresh
        node.stats_room = <uint16_t>room
        return True

    cdef void forget(self) noexcept nogil:
        memset(self.free_lists, 0, sizeof(self.free_lists))
        if self.n_buckets:
            memset(self.buckets, 0, self.n_buckets * sizeof(Ref))
        self.n_keyed = 0
        self.free_units = 0
        self.cramped = 0
        self.dead = 0
        self.root = 0
        self.n_nodes = 0
        self.chunk = -1
        self.unit = CHUNK_UNITS

    # --- giving up subtrees --------------------------------------------------------------------------------

    cdef void release(self, Ref ref) noexcept nogil:
        """Take away one reference to a node; nobody needs it after the last."""
        node_at(self, ref).references -= 1
        if node_at(self, ref).references == 0:
            self.bury(ref)

    cdef void bury(self, Ref ref) noexcept nogil:
        """Put a node on the list of those to be freed, with all that only it refers to."""
        self.leave(ref)
        node_at(self, ref).visits = <int32_t>self.dead
        self.dead = ref

    cdef void reclaim(self, int limit) noexcept nogil:
        """Free up to `limit` buried nodes."""
        cdef Ref ref
        while limit > 0 and self.dead != 0:
            ref = self.dead
            self.dead = <Ref>node_at(self, ref).visits
            self.strip(node_at(self, ref))
            self.give(ref, NODE_UNITS)
            self.n_nodes -= 1
            limit -= 1

    cdef void strip(self, Node* node) noexcept nogil:
        """Free a node's moves and release its children; its own value and proof stay."""
        cdef EdgeStat* stats
        cdef int i
        if node.stats != 0:
            stats = stats_of(self, node)
            for i in range(node.n_visited):
                if stats[i].child != 0:
                    self.release(stats[i].child)
            self.give(node.stats, stats_units(node.stats_room))
        self.give(node.moves, moves_units(node.n_moves))
        node.moves = node.stats = 0
        node.n_moves = node.n_visited = node.stats_room = 0
        node.settled_prior = 0
        node.has_draw = 0
        node.head_ready = 0

    cdef int best_edge(self, Node* node) noexcept nogil:
        """Index of the move that a node would play, -1 if it knows none."""
        cdef EdgeStat* s
        cdef int i, best = -1, draw = -1, wanted = node.proven
        cdef double rank, best_rank = -1e300
        if node.n_visited == 0:
            return -1
        s = stats_of(self, node)
        for i in range(node.n_visited):
            if s[i].proven == PROVEN_DRAW:
                draw = i
            if s[i].proven != wanted:
                continue
            if wanted == PROVEN_WIN:
                rank = -<double>s[i].distance
            elif wanted == PROVEN_LOSS:
                rank = s[i].distance + 1e-9 * s[i].visits
            else:
                rank = s[i].visits + 0.25 * s[i].q
            if rank > best_rank:
                best_rank = rank
                best = i
        if draw >= 0 and wanted == PROVEN_NONE and (best < 0 or s[best].q < 0):
            return draw
        return best

    cdef void keep_proof(self, Node* node) noexcept nogil:
        """Remember the move of a proof whose moves are about to be forgotten."""
        cdef int i
        if node.proven != PROVEN_NONE and node.proof_move == NO_MOVE:
            i = self.best_edge(node)
            if i >= 0:
                node.proof_move = moves_of(self, node)[i]

    cdef bint collapse_one(self) noexcept nogil:
        """Strip a little visited node without grandchildren; False if there is none but the root."""
        cdef Node* node
        cdef EdgeStat* stats
        cdef Ref ref = self.root, least
        cdef int i, least_visits
        if ref == 0:
            return False
        while True:
            node = node_at(self, ref)
            least = 0
            least_visits = 0
            stats = stats_of(self, node)
            for i in range(node.n_visited):
                if stats[i].child != 0 and (least == 0 or stats[i].visits < least_visits):
                    if node_at(self, stats[i].child).moves != 0:
                        least = stats[i].child
                        least_visits = stats[i].visits
            if least == 0:
                break
            ref = least
        if ref == self.root:
            return False
        self.keep_proof(node)
        self.strip(node)
        return True

    cdef bint make_room(self) noexcept nogil:
        """See to it that a simulation finds memory; False if the arena is too small."""
        cdef int tries = 64
        cdef int64_t fresh
        while True:
            fresh = <int64_t>(self.max_chunks - 1 - self.chunk) * CHUNK_UNITS + CHUNK_UNITS - self.unit
            if fresh >= RESERVE_UNITS:
                return True
            if fresh + self.free_units >= RESERVE_UNITS and (tries <= 0 or (
                self.free_lists[NODE_UNITS] != 0 and self.free_lists[self.common_units] != 0
                and self.free_lists[stats_units(FIRST_ROOM)] != 0
                and self.free_lists[stats_units(2 * FIRST_ROOM)] != 0
            )):
                return True
            tries -= 1
            if self.dead != 0:
                self.reclaim(64)
            elif not self.collapse_one():
                return fresh + self.free_units >= RESERVE_UNITS

    cdef bint condense(self) noexcept nogil:
        """Keep nothing but the root, its moves and their values, in an arena without fragments."""
        cdef Node* root = node_at(self, self.root)
        cdef EdgeStat* stats
        cdef Node* children
        cdef char* saved
        cdef Node head
        cdef uint64_t key
        cdef int n = root.n_visited, i
        cdef int64_t moves_bytes = root.n_moves * 6, stats_bytes = n * sizeof(EdgeStat)
        saved = <char*>malloc(8 + moves_bytes + stats_bytes + n * sizeof(Node))
        if saved == NULL:
            return False
        children = <Node*>saved
        stats = <EdgeStat*>(saved + n * sizeof(Node))
        if n > 0:
            memcpy(stats, self.at(root.stats), stats_bytes)
        if root.moves != 0:
            memcpy(saved + n * sizeof(Node) + stats_bytes, self.at(root.moves), moves_bytes)
        for i in range(n):
            if stats[i].child != 0:
                self.keep_proof(node_at(self, stats[i].child))
                children[i] = node_at(self, stats[i].child)[0]
        head = root[0]
        self.forget()
        self.root = self.new_node()
        root = node_at(self, self.root)
        root[0] = head
        root.references = 1
        root.stats = 0
        root.stats_room = 0
        if head.moves != 0:
            root.moves = self.take(moves_units(head.n_moves))
            memcpy(self.at(root.moves), saved + n * sizeof(Node) + stats_bytes, moves_bytes)
        root.n_visited = 0
        if head.key != 0:
            self.enter(self.root, head.key)
        for i in range(n):
            self.grow_stats(root)
            root.n_visited += 1
            if stats[i].child != 0:
                stats[i].child = self.new_node()
                children[i].moves = children[i].stats = 0
                key = children[i].key
                children[i].key = 0
                children[i].references = 1
                node_at(self, stats[i].child)[0] = children[i]
                self.strip(node_at(self, stats[i].child))
                if key != 0:
                    self.enter(stats[i].child, key)
            stats_of(self, root)[i] = stats[i]
        free(saved)
        return True

    # --- the bound -----------------------------------------------------------------------------------------

    @property
    def memory_bytes(self):
        return <int64_t>self.wanted_chunks * CHUNK_UNITS * UNIT_BYTES

    @memory_bytes.setter
    def memory_bytes(self, value):
        cdef int wanted
        cdef char** chunks
        if value < 1 << 20:
            raise ValueError(f"a tree needs at least 1 MiB, not {value} bytes")
        wanted = int(min(value, 1 << 36) // (CHUNK_UNITS * UNIT_BYTES))
        chunks = <char**>calloc(max(wanted, self.n_chunks), sizeof(char*))
        if chunks == NULL:
            raise MemoryError("no memory for a tree")
        if self.n_chunks:
            memcpy(chunks, self.chunks, self.n_chunks * sizeof(char*))
        free(self.chunks)
        self.chunks = chunks
        self.wanted_chunks = wanted
        self.max_chunks = max(wanted, self.n_chunks)

    @property
    def nodes(self):
        return self.n_nodes

    @property
    def memory_used(self):
        return <int64_t>self.n_chunks * CHUNK_UNITS * UNIT_BYTES

    def trim(self):
        cdef int i
        self.clear()
        for i in range(self.n_chunks):
            free(self.chunks[i])
        self.n_chunks = 0

    def clear(self):
        cdef int i
        for i in range(self.wanted_chunks, self.n_chunks):
            free(self.chunks[i])
        self.n_chunks = min(self.n_chunks, self.wanted_chunks)
        self.max_chunks = self.wanted_chunks
        self.forget()
