/* A lock for the tree, a pause, and a clock, on POSIX and on Windows. */
#ifndef TENGEN_LOCK_H
#define TENGEN_LOCK_H

#include <stdint.h>

#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#undef near
#undef far
#undef small
typedef SRWLOCK tengen_lock;
#else
#include <pthread.h>
#include <sched.h>
#include <time.h>
typedef pthread_mutex_t tengen_lock;
#endif

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#define TENGEN_RELAX() __builtin_ia32_pause()
#elif defined(_WIN32)
#define TENGEN_RELAX() YieldProcessor()
#elif defined(__aarch64__) && defined(__GNUC__)
#define TENGEN_RELAX() __asm__ volatile("yield")
#else
#define TENGEN_RELAX() ((void)0)
#endif

enum {
    TENGEN_SPINS = 100      /* tries before a thread sleeps (derived: as long as a lock is held, some 5 us) */
};

static inline void tengen_lock_init(tengen_lock* lock)
{
#if defined(_WIN32)
    InitializeSRWLock(lock);
#else
    pthread_mutex_init(lock, NULL);
#endif
}

static inline void tengen_lock_destroy(tengen_lock* lock)
{
#if defined(_WIN32)
    (void)lock;
#else
    pthread_mutex_destroy(lock);
#endif
}

/* Return whether the lock was taken. TENGEN_NO_LOCK leaves it out, so that tests can see that this is noticed. */
static inline int tengen_lock_try(tengen_lock* lock)
{
#if defined(TENGEN_NO_LOCK)
    (void)lock;
    return 1;
#elif defined(_WIN32)
    return TryAcquireSRWLockExclusive(lock) != 0;
#else
    return pthread_mutex_trylock(lock) == 0;
#endif
}

/* Try for a moment; return whether the lock was taken. */
static inline int tengen_lock_spin(tengen_lock* lock)
{
    int i;
    for (i = 0; i < TENGEN_SPINS; i++) {
        if (tengen_lock_try(lock))
            return 1;
        TENGEN_RELAX();
    }
    return 0;
}

/* Take the lock; wait for it if need be. */
static inline void tengen_lock_acquire(tengen_lock* lock)
{
    if (tengen_lock_spin(lock))
        return;
#if defined(_WIN32)
    AcquireSRWLockExclusive(lock);
#else
    pthread_mutex_lock(lock);
#endif
}

static inline void tengen_lock_release(tengen_lock* lock)
{
#if defined(TENGEN_NO_LOCK)
    (void)lock;
#elif defined(_WIN32)
    ReleaseSRWLockExclusive(lock);
#else
    pthread_mutex_unlock(lock);
#endif
}

/* Let other threads run for a moment: about 50 us, or the rest of a time slice. */
static inline void tengen_pause(void)
{
#if defined(_WIN32)
    if (!SwitchToThread())
        Sleep(0);
#else
    struct timespec moment = {0, 20000};
    nanosleep(&moment, NULL);
#endif
}

/* Return the nanoseconds of a monotonic clock. */
static inline int64_t tengen_now_ns(void)
{
#if defined(_WIN32)
    LARGE_INTEGER ticks, per_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&per_second);
    return (int64_t)((double)ticks.QuadPart * 1e9 / (double)per_second.QuadPart);
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
#endif
}

#endif
