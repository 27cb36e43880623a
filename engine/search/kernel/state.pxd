# cython: language_level=3
"""The state of a tree and of the threads that search it, and the lock between them.

Several threads may search one tree, each with a `Worker`. One lock guards the tree: a thread holds it from the backup
of a simulation to the end of the next selection, and releases it while the simulation is in flight (`begin_flight`,
`end_flight`). Board, solver, planes and net are its own. The main thread starts and ends the search and reads its
results; it never waits for a simulation of another thread: `TreeState.generation` tells the others that their search
is over, `Flight.cancelled` that their simulation is void. With one thread no lock is taken and nothing is in flight."""
from libc.stdint cimport int64_t, uint16_t, uint64_t
from libc.string cimport memset

from engine.rules._board cimport BoardState
from engine.search.kernel.expand cimport MoveChoice, MoveList
from engine.search.kernel.flight cimport Flight, Flights, count_in_flight
from engine.search.kernel.graph cimport Graph
from engine.search.kernel.leaf cimport LeafStatus
from engine.search.kernel.lock cimport (
    tengen_lock, tengen_lock_acquire, tengen_lock_release, tengen_lock_try, tengen_now_ns,
)
from engine.search.kernel.node cimport node_at
from engine.search.kernel.node_memory cimport Ref
from engine.search.kernel.noise cimport Noise
from engine.search.kernel.select cimport SearchSettings
from engine.threats.kernel.state cimport Threat

# Status of a simulation. Python sees those from 0 on.
cdef enum:
    IDLE = 0                # none was done
    LEAF = 1                # a leaf waits for its evaluation
    SOLVED = 2              # done, without an evaluation
    NOTHING_LEFT = 3        # the root, or the root move asked for, is proven
    FULL = 4                # no memory
    EVALUATED = 5           # done, with an evaluation
    BAD_MOVE = -2           # the root has no such move
    BAD_EVALUATION = -3     # the evaluation is not finite, or no probabilities
    INCONSISTENT = -4       # debug builds: node statistics do not add up
    WAITING = -5            # with threads: nothing to do for the moment
    STOPPED = -6            # with threads: the search is over

# Where `descend` ended, unless with a status.
cdef enum:
    AT_LEAF = 10            # a position without a node, or a node without moves
    AT_STALE_EDGE = 11      # the last edge of the path is out of date with its child
    AT_PROOF = 12           # a node that the solver has just proven
    AT_COLLISION = 13       # a leaf that another thread evaluates
    AT_CANCELLED = 14       # the path is no longer in the tree

cdef enum:
    MAX_SELECTIONS = 3      # after as many collisions a simulation waits (derived: visits in flight count 16fold then)
    CLEAR_RETRY = 3         # of a simulation without memory: what finds no room for its moves or edges goes on without
    MAX_WAITS = 20          # after as many it evaluates a leaf that is in flight (derived: 1 to 2 ms)

cdef struct Simulation:     # the current simulation of a worker; its path is in `Worker.flight`
    bint pending            # a leaf waits for its evaluation
    uint16_t points[486]    # moves of the path
    int placed              # moves on the board, of the path, then forced
    Ref leaf                # node at the end; 0: a new one is needed
    int n_forced            # forced moves after the path
    uint16_t forced_moves[486]
    uint64_t forced_keys[487]  # hashes of the new positions: at the end of the path, after each forced move
    Ref transposition       # existing node after the forced moves; 0: none
    int solver_rounds       # calls of the solver at the leaf
    int64_t solver_nodes    # spent by this simulation
    Threat threat           # of the opponent at the leaf, if planes or `leaf_defences` need it
    LeafStatus status       # of the leaf, by rules and solver
    MoveList moves          # of an open leaf
    float wdl[3]            # its evaluation
    MoveChoice choice       # its moves to be stored

cdef struct LockTimes:
    int64_t locks           # times that the lock was taken ...
    int64_t contended       # ... and was not free
    int64_t held_ns         # time that it was held
    int64_t wait_ns         # time that threads waited for it

cdef struct Counters:       # since the last reset
    int64_t simulations, evaluations, solved_leaves, solver_nodes
    int64_t depth_sum
    int depth_max
    # with threads
    int64_t collisions      # selections that met a leaf in flight
    int64_t duplicates      # evaluations of a leaf that another thread had evaluated meanwhile
    int64_t cancelled       # simulations that were cancelled
    LockTimes lock_times

cdef struct Worker:         # what a thread needs besides the tree
    BoardState* board       # at the root between simulations; NULL: no root yet
    void* solver            # a `Solver`, not owned; with `leaf_vcf_nodes` 0 it only looks for threats
    Simulation simulation
    Flight flight
    int oom_retries         # simulations without memory since the last success
    # with threads
    bint threaded           # other threads search too, or may still do
    bint is_helper          # not the main thread
    int64_t generation      # the search that it belongs to
    void* tree              # `TreeState` of a helper
    int waits               # consecutive ones
    int64_t locked_at_ns    # when the lock was taken
    LockTimes lock_times    # since the last simulation

cdef struct TreeState:
    SearchSettings settings
    Graph graph
    Noise noise
    Counters counters
    Worker main             # of the thread that starts and ends searches
    # with threads
    tengen_lock lock        # of all but what a worker owns
    Flights flights         # of the workers of this search
    int64_t generation      # counts searches; tells helpers that theirs is over
    int64_t max_simulations  # no simulation begins when `counters.simulations` are as many
    int failure             # the bad status that ended a helper; 0: none


cdef inline void lock_tree(TreeState* t, Worker* w) noexcept nogil:
    """Take the lock, if there are other threads."""
    cdef int64_t begin_ns
    if not w.threaded:
        return
    if tengen_lock_try(&t.lock):
        w.locked_at_ns = tengen_now_ns()
    else:
        begin_ns = tengen_now_ns()
        tengen_lock_acquire(&t.lock)
        w.locked_at_ns = tengen_now_ns()
        w.lock_times.contended += 1
        w.lock_times.wait_ns += w.locked_at_ns - begin_ns
    w.lock_times.locks += 1


cdef inline void unlock_tree(TreeState* t, Worker* w) noexcept nogil:
    """Release the lock, if there are other threads."""
    if w.threaded:
        w.lock_times.held_ns += tengen_now_ns() - w.locked_at_ns
        tengen_lock_release(&t.lock)


cdef inline void add_lock_times(TreeState* t, Worker* w) noexcept nogil:
    """Add what a worker has measured to the counters of the tree."""
    t.counters.lock_times.locks += w.lock_times.locks
    t.counters.lock_times.contended += w.lock_times.contended
    t.counters.lock_times.held_ns += w.lock_times.held_ns
    t.counters.lock_times.wait_ns += w.lock_times.wait_ns
    memset(&w.lock_times, 0, sizeof(LockTimes))


cdef inline void begin_flight(TreeState* t, Worker* w) noexcept nogil:
    """Release the lock; the simulation is in flight from now on."""
    if w.threaded:
        w.flight.active = True
        unlock_tree(t, w)


cdef inline bint end_flight(TreeState* t, Worker* w) noexcept nogil:
    """Take the lock again; False if the simulation was cancelled meanwhile."""
    if not w.threaded:
        return True
    lock_tree(t, w)
    w.flight.active = False
    if w.flight.cancelled or w.generation != t.generation:
        w.flight.cancelled = False
        return False
    return True


cdef inline bint helper_may_start(TreeState* t) noexcept nogil:
    """Return whether a helper may begin a simulation: the root is expanded, and the limit is not reached."""
    if t.graph.root == 0 or node_at(&t.graph.memory, t.graph.root).moves == 0:
        return False
    return t.counters.simulations + count_in_flight(&t.flights) < t.max_simulations
