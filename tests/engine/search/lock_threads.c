/* Four threads add to one number under the lock of a tree; prints the sum. The number is not atomic, so that a lock
   that does not hold loses additions. */
#include <stdio.h>

#include "lock.h"

enum { THREADS = 4, ADDITIONS = 200000 };

static tengen_lock lock;
static volatile long sum;

static void add(void)
{
    int i;
    for (i = 0; i < ADDITIONS; i++) {
        if (i % 3 || !tengen_lock_try(&lock))
            tengen_lock_acquire(&lock);
        sum = sum + 1;
        tengen_lock_release(&lock);
        if (i % 50000 == 0)
            tengen_pause();
    }
}

#if defined(_WIN32)
typedef HANDLE thread;

static DWORD WINAPI body(void* unused)
{
    (void)unused;
    add();
    return 0;
}

static thread start(void) { return CreateThread(NULL, 0, body, NULL, 0, NULL); }
static void join(thread t) { WaitForSingleObject(t, INFINITE); }
#else
typedef pthread_t thread;

static void* body(void* unused)
{
    (void)unused;
    add();
    return NULL;
}

static thread start(void)
{
    pthread_t t;
    pthread_create(&t, NULL, body, NULL);
    return t;
}
static void join(thread t) { pthread_join(t, NULL); }
#endif

int main(void)
{
    thread threads[THREADS];
    int64_t began_ns = tengen_now_ns();
    int i;
    tengen_lock_init(&lock);
    for (i = 0; i < THREADS; i++)
        threads[i] = start();
    for (i = 0; i < THREADS; i++)
        join(threads[i]);
    tengen_lock_destroy(&lock);
    printf("%ld %s\n", sum, tengen_now_ns() > began_ns ? "later" : "no time went by");
    return 0;
}
