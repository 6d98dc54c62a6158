/* `stack_again LIBRARY` (libdynamic_tls.so): a thread ends, whose stack the C library keeps
 * together with the block that its thread-local storage is in; the next thread of such a stack
 * gives the block back.  That is memprof's, as a block is large enough to start it.  Then the
 * address is handed out again.  Ends with 1 where it is not. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { STACK = 512 << 10, LARGE = 2 << 20, TRIES = 64, BYTES = 900 };

static char *(*area)(void);
static uintptr_t its;

static void *touch(void *unused)
{
    *area() = 1;
    its = (uintptr_t)area();
    return unused;
}

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) return 2;
    area = (char *(*)(void))dlsym(library, "dynamic_tls_area");
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    if (pthread_create(&thread, &attr, touch, NULL) || pthread_join(thread, NULL)) return 2;
    char *volatile large = malloc(LARGE);
    free(large);
    char *volatile block[TRIES];
    int found = 0;
    for (int i = 0; i < TRIES; i++) {
        block[i] = malloc(BYTES);
        found |= (uintptr_t)block[i] <= its && its < (uintptr_t)block[i] + BYTES;
    }
    return !found;
}
