/* A library preloaded into memprof-report: its allocations fail from number NO_MEMORY_FROM on, but
 * not those of libraries. At the end it writes their number to the file NO_MEMORY_COUNT. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t bytes);

static uintptr_t from, to; /* of the program's code; to is 0 until it is known */
static unsigned long calls, first = -1UL;

static int find_program(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    (void)arg;
    from = to = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t end =
            info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > to) to = end;
    }
    return 1; /* the first object is the program */
}

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("NO_MEMORY_FROM");
    if (number) first = strtoul(number, NULL, 10);
    dl_iterate_phdr(find_program, NULL);
}

__attribute__((destructor)) static void write_count(void)
{
    const char *path = getenv("NO_MEMORY_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%lu\n", calls);
    fclose(file);
}

static bool fails(const void *caller)
{
    if ((uintptr_t)caller < from || (uintptr_t)caller >= to || ++calls < first) return false;
    errno = ENOMEM;
    return true;
}

#define FAILS fails(__builtin_return_address(0))

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    return FAILS ? NULL : __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    return FAILS ? NULL : __libc_calloc(count, size);
}
__attribute__((visibility("default"))) void *realloc(void *memory, size_t bytes)
{
    return FAILS ? NULL : __libc_realloc(memory, bytes);
}

__attribute__((visibility("default"))) void *reallocarray(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (FAILS || __builtin_mul_overflow(count, size, &bytes)) return NULL;
    return __libc_realloc(memory, bytes);
}

__attribute__((visibility("default"))) char *strndup(const char *text, size_t bytes)
{
    const size_t length = strnlen(text, bytes);
    char *copy = FAILS ? NULL : __libc_malloc(length + 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

__attribute__((visibility("default"))) FILE *open_memstream(char **text, size_t *bytes)
{
    FILE *(*real)(char **, size_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "open_memstream");
    return FAILS ? NULL : real(text, bytes);
}

__attribute__((visibility("default"))) char *strdup(const char *text)
{
    return FAILS ? NULL : strcpy(__libc_malloc(strlen(text) + 1), text);
}
