/* Finds driver calls in every possible way and uses them. The blocks allocated in each way must be
 * in the log. Prints the results of the look-ups, which are the same with and without memprof. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "steps.h"

typedef CUresult (*alloc_function)(CUdeviceptr *, size_t);
typedef CUresult (*free_function)(CUdeviceptr);
typedef CUresult (*async_alloc_function)(CUdeviceptr *, size_t, CUstream);
typedef CUresult (*async_free_function)(CUdeviceptr, CUstream);
typedef CUresult (*register_function)(void *, size_t, unsigned);
typedef CUresult (*old_entry_function)(const char *, void **, int, cuuint64_t);
typedef CUresult (*entry_function)(const char *, void **, int, cuuint64_t,
                                   CUdriverProcAddressQueryResult *);
enum {
    LEGACY = CU_GET_PROC_ADDRESS_LEGACY_STREAM,
    PER_THREAD = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
};

/* ---- using the functions that were found */

static void use(const char *way, void *alloc, void *release)
{
    CUdeviceptr address;
    CHECK(alloc && release);
    OK(((alloc_function)alloc)(&address, MIB));
    counters.device += MIB;
    step(way);
    OK(((free_function)release)(address));
    counters.device -= MIB;
    step(way);
}

static void use_async(const char *way, void *alloc, void *release)
{
    CUdeviceptr address;
    CHECK(alloc && release);
    OK(((async_alloc_function)alloc)(&address, MIB, NULL));
    counters.pool += MIB;
    step(way);
    OK(((async_free_function)release)(address, NULL));
    counters.pool -= MIB;
    step(way);
}

static void use_register(const char *way, void *function)
{
    static char memory[MIB] __attribute__((aligned(4096)));
    CHECK(function);
    OK(((register_function)function)(memory, sizeof memory, 0));
    counters.pinned += sizeof memory;
    step(way);
    OK(cuMemHostUnregister(memory));
    counters.pinned -= sizeof memory;
    step(way);
}

/* ---- the loader's look-ups */

static void by_name(const char *way, void *handle)
{
    use(way, dlsym(handle, "cuMemAlloc_v2"), dlsym(handle, "cuMemFree_v2"));
}

static void say_found(const char *name, const void *found)
{
    const char *error = dlerror();
    printf("%s: %s, %s\n", name, found ? "found" : "not found",
           !error                              ? "no error"
           : strstr(error, "undefined symbol") ? "undefined symbol"
                                               : error);
}

/* Only the exact name is found. The driver has no symbol versions. */
static void look_up_missing(void *driver)
{
    dlerror();
    say_found("shorter", dlsym(driver, "cuMemAlloc_v"));
    say_found("longer", dlsym(driver, "cuMemAlloc_v22"));
    say_found("another", dlsym(driver, "cuNoSuchCall"));
    say_found("of the C library", dlsym(dlopen("libc.so.6", RTLD_NOW), "cuMemAlloc_v2"));
    say_found("there", dlsym(driver, "cuMemAlloc_v2"));
    printf("the linked one: %d\n", dlsym(driver, "cuMemAlloc_v2") == (void *)cuMemAlloc_v2);
    say_found("of newer drivers", dlsym(RTLD_DEFAULT, "cuFuncLoad"));
    say_found("of newer drivers, program", dlsym(dlopen(NULL, RTLD_NOW), "cuFuncLoad"));
    say_found("of a version", dlvsym(driver, "cuMemAlloc_v2", "GLIBC_2.2.5"));
    say_found("of the C library's version", dlvsym(RTLD_DEFAULT, "malloc", "GLIBC_2.2.5"));
    say_found("of no such version", dlvsym(RTLD_DEFAULT, "malloc", "GLIBC_1.0"));
}

/* ---- the driver's own look-up */

static void *entry(entry_function get, const char *symbol, int version, cuuint64_t flags)
{
    void *found = NULL;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    OK(get(symbol, &found, version, flags, &status));
    CHECK(status == CU_GET_PROC_ADDRESS_SUCCESS);
    return found;
}

static void by_entry(const char *way, entry_function get, cuuint64_t flags)
{
    use(way, entry(get, "cuMemAlloc", 12000, flags), entry(get, "cuMemFree", 3020, flags));
    use_async(way, entry(get, "cuMemAllocAsync", 11020, flags),
              entry(get, "cuMemFreeAsync", 13000, flags));
    use_register(way, entry(get, "cuMemHostRegister", 4000, flags));
    use_register(way, entry(get, "cuMemHostRegister", 12000, flags));
}

static void by_old_entry(old_entry_function get)
{
    void *alloc = NULL, *release = NULL;
    OK(get("cuMemAlloc", &alloc, 11030, 0));
    OK(get("cuMemFree", &release, 11030, 0));
    use("old entry", alloc, release);
}

/* Calls without a place for the status, and names that do not exist in this version. (A NULL name
 * or a NULL place for the function crashes the driver.) */
static void odd_entries(entry_function get)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    void *found = NULL;
    OK(get("cuMemAlloc", &found, 12000, 0, NULL));
    CHECK(found);
    const CUresult result = get("cuNoSuchCall", &found, 12000, 0, &status);
    printf("no such: %d, %s, status %d\n", result, found ? "found" : "NULL", status);
    const CUresult early = get("cuMemAllocAsync", &found, 10000, 0, &status);
    printf("too early: %d, %s\n", early, found ? "found" : "NULL");
    printf("variants differ: %d\n", entry(get, "cuMemAllocAsync", 12000, LEGACY) !=
                                        entry(get, "cuMemAllocAsync", 12000, PER_THREAD));
    printf("asked twice, the same: %d\n",
           entry(get, "cuMemAlloc", 12000, 0) == entry(get, "cuMemAlloc", 12000, 0));
}

int main(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    CHECK(driver);
    void *early = dlsym(driver, "cuMemAlloc_v2"), *early_free = dlsym(driver, "cuMemFree_v2");
    const entry_function get = (entry_function)dlsym(driver, "cuGetProcAddress_v2");
    void *early_entry = entry(get, "cuMemAlloc", 12000, 0);
    steps_start();
    use("found before the start", early, early_free);
    use("entry before the start", early_entry, early_free);
    by_name("handle", driver);
    by_name("default", RTLD_DEFAULT);
    by_name("next", RTLD_NEXT);
    by_name("next again", RTLD_NEXT);
    by_name("program", dlopen(NULL, RTLD_NOW));
    look_up_missing(driver);
    by_entry("entry", get, 0);
    by_entry("entry, legacy", get, LEGACY);
    by_entry("entry, per thread", get, PER_THREAD);
    by_entry("entry of an entry", (entry_function)entry(get, "cuGetProcAddress", 12000, 0), 0);
    by_old_entry((old_entry_function)entry(get, "cuGetProcAddress", 11030, 0));
    by_old_entry((old_entry_function)dlsym(driver, "cuGetProcAddress"));
    odd_entries(get);
    step("end");
    return 0;
}
