/* Holds device memory until its standard input ends.
 *
 * BIG_TLS: with much static thread-local storage.
 * NO_THREADS: in a process that cannot create threads. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "steps.h"

#ifdef BIG_TLS
static __thread volatile char storage[3 << 20];
#endif

#ifdef NO_THREADS
__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
                                                          const pthread_attr_t *attr,
                                                          void *(*run)(void *), void *arg)
{
    (void)thread, (void)attr, (void)run, (void)arg;
    return EAGAIN;
}
#endif

int main(void)
{
    char end;
#ifdef BIG_TLS
    storage[0] = 1;
#endif
    steps_start();
    steps_alloc(64 * MIB);
    return read(STDIN_FILENO, &end, 1) == 0 ? 0 : 1;
}
