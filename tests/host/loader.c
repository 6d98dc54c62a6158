/* `loader HOW LIBRARY`: a C program that opens a library with dlopen.
 *
 * late: opens LIBRARY, then allocates 1,000 blocks; prints the variables that the library may have
 * set.
 * tls: opens a library with initial-exec thread-local storage; prints its result.
 * plugin: opens a C++ library as RTLD_LOCAL, and calls its plugin_work in the range "plugin".
 * deep: the same after another C++ library, which binds names in itself first. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranges.h"

static void *volatile sink;

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    ranges_init();
    const bool deep = !strcmp(argv[1], "deep");
    if (deep) dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        return 1;
    }
    if (!strcmp(argv[1], "tls"))
        printf("%d\n", ((int (*)(int))dlsym(library, "static_tls_sum"))(42));
    if (deep || !strcmp(argv[1], "plugin")) {
        ((void (*)(void))dlsym(library, "plugin_start"))();
        range_push("plugin");
        ((void (*)(void))dlsym(library, "plugin_work"))();
        range_pop();
    }
    if (!strcmp(argv[1], "late")) {
        for (int i = 0; i < 1000; i++) sink = malloc(100);
        const char *nvtx = getenv("NVTX_INJECTION64_PATH"), *root = getenv("MEMPROF_ROOT");
        printf("%s %s\n", nvtx ? nvtx : "-", root ? root : "-");
    }
    return 0;
}
