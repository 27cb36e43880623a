# cython: language_level=3
# Written by setup.py from planes.py.
cdef extern from "planes.h" nogil:
    enum:
        PLANE_USABLE
        PLANE_OWN_STONE
        PLANE_OTHER_STONE
        PLANE_OWN_FIVE
        PLANE_OTHER_FIVE
        PLANE_OWN_OPEN_FOUR
        PLANE_OTHER_OPEN_FOUR
        PLANE_OWN_FOUR
        PLANE_OTHER_FOUR
        PLANE_OWN_OPEN_THREE
        PLANE_OTHER_OPEN_THREE
        PLANE_OWN_FORK
        PLANE_OTHER_FORK
        PLANE_BLACK_FORBIDDEN
        PLANE_THREAT_MOVE
        PLANE_THREAT_DEFENCE
        PLANE_OWN_IS_BLACK
        PLANE_OWN_EXACT
        PLANE_OTHER_EXACT
        PLANE_OWN_RESTRICTED
        PLANE_OTHER_RESTRICTED
        PLANE_BLOCKED_FIVES
        PLANE_THREATENED
        PLANE_COUNT
