/* Look-ups whose result depends on the calling object, without CUDA. Prints the results. The
 * libraries a, b and c are linked in this order, and c is also opened separately. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "chain.h"

typedef void (*chain_function)(char *);

static void say(const char *way, void *function)
{
    char text[64] = "";
    if (function) ((chain_function)function)(text);
    printf("%s: %s\n", way, text);
}

static void say_lost(const char *error) { printf("%s\n", error ? error : "no error"); }

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    for (int i = 0; i < 3; i++) say("called", (void *)chained);
    say("default", dlsym(RTLD_DEFAULT, "chained"));
    say("next", dlsym(RTLD_NEXT, "chained"));
    say("program", dlsym(dlopen(NULL, RTLD_NOW), "chained"));
    say("last", dlsym(dlopen(argv[1], RTLD_NOW), "chained"));
    say_lost(lost_by_a());
    say_lost(lost_by_b());
    say_lost(lost_by_c());
    dlsym(RTLD_DEFAULT, "lost");
    say_lost(dlerror());
    say_lost(dlerror());
    dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"); /* fails, because the driver is not loaded */
    const char *error = dlerror();
    printf("driver's: %s\n", error ? "an error" : "no error");
    errno = EXDEV;
    dlsym(RTLD_DEFAULT, "chained");
    printf("errno %d\n", errno);
    void *versioned = dlvsym(RTLD_DEFAULT, "malloc", "GLIBC_2.2.5");
    printf("versions: %d, %d\n", versioned != NULL,
           dlvsym(RTLD_NEXT, "malloc", "GLIBC_1.0") != NULL);
    return 0;
}
