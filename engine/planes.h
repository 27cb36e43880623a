/* Written by setup.py from planes.py. */
#ifndef TENGEN_PLANES_H
#define TENGEN_PLANES_H

enum {
    PLANE_USABLE = 0,
    PLANE_OWN_STONE = 1,
    PLANE_OTHER_STONE = 2,
    PLANE_OWN_FIVE = 3,
    PLANE_OTHER_FIVE = 4,
    PLANE_OWN_OPEN_FOUR = 5,
    PLANE_OTHER_OPEN_FOUR = 6,
    PLANE_OWN_FOUR = 7,
    PLANE_OTHER_FOUR = 8,
    PLANE_OWN_OPEN_THREE = 9,
    PLANE_OTHER_OPEN_THREE = 10,
    PLANE_OWN_FORK = 11,
    PLANE_OTHER_FORK = 12,
    PLANE_BLACK_FORBIDDEN = 13,
    PLANE_THREAT_MOVE = 14,
    PLANE_THREAT_DEFENCE = 15,
    PLANE_OWN_IS_BLACK = 16,
    PLANE_OWN_EXACT = 17,
    PLANE_OTHER_EXACT = 18,
    PLANE_OWN_RESTRICTED = 19,
    PLANE_OTHER_RESTRICTED = 20,
    PLANE_BLOCKED_FIVES = 21,
    PLANE_THREATENED = 22,
    PLANE_COUNT = 23
};

/* Fails to compile if the condition is false; C99 as well. */
#define TENGEN_STATIC_ASSERT(name, condition) typedef char tengen_assert_##name[(condition) ? 1 : -1]

#endif
