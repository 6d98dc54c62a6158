/* Look-ups in the objects' own tables find the same as the loader, for every name that the
 * libraries of this program define, the hooks' names, and names that do not exist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "real/symbol.h"

static unsigned compared;

static void same(const char *name)
{
    void *expected = dlsym(RTLD_NEXT, name);
    void *got = mp_symbol_next(name);
    if (got != expected) fail_msg("%s: %p, the loader has %p", name, got, expected);
    compared++;
}

static void hooks_are_found_as_the_loader_finds_them(void **state)
{
    (void)state;
#define MP_HOOK(name)       same(#name);
#define MP_HOOK_CXX(name)   same(#name);
#define MP_HOOK_TORCH(name) same(#name);
#include "real/hooks.def"
#undef MP_HOOK
#undef MP_HOOK_CXX
#undef MP_HOOK_TORCH
    assert_non_null(mp_symbol_next("malloc"));
}

static void names_that_do_not_exist_are_not_found(void **state)
{
    (void)state;
    static const char *const names[] = { "",        "no such function", "mallo",
                                         "mallocc", "mp_symbol_next",   "main",
                                         "_DYNAMIC" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        same(names[i]);
        assert_null(mp_symbol_next(names[i]));
    }
}

/* The C library's first version for this processor, and a function that also has a later version
 * (AddressSanitizer has its own fmemopen). */
#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#define OLD   "nftw"
#define LATER "GLIBC_2.3.3"
#else
#define FIRST "GLIBC_2.17"
#define OLD   "fmemopen"
#define LATER "GLIBC_2.22"
#endif

/* Versions for old programs are hidden. The loader returns them only if the version is given. */
static void old_symbol_versions_are_skipped(void **state)
{
    (void)state;
    assert_ptr_not_equal(dlvsym(RTLD_NEXT, OLD, FIRST), dlvsym(RTLD_NEXT, OLD, LATER));
    assert_ptr_equal(mp_symbol_next(OLD), dlvsym(RTLD_NEXT, OLD, LATER));
    assert_ptr_equal(mp_symbol_next("quick_exit"), dlvsym(RTLD_NEXT, "quick_exit", "GLIBC_2.24"));
    assert_non_null(dlvsym(RTLD_NEXT, "svc_run", FIRST));
    assert_null(mp_symbol_next("svc_run"));
}

/* Returns the number of a library's dynamic symbols, which only the older hash table contains. */
static uint32_t symbols_of(const struct link_map *l, const ElfW(Sym) * *symbol, const char **text)
{
    const uint32_t *gnu = NULL;
    for (const ElfW(Dyn) *d = l->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB) *symbol = (const void *)d->d_un.d_ptr;
        if (d->d_tag == DT_STRTAB) *text = (const void *)d->d_un.d_ptr;
        if (d->d_tag == DT_GNU_HASH) gnu = (const void *)d->d_un.d_ptr;
    }
    if (!gnu) return 0;
    const uint32_t *bucket = gnu + 4 + 2 * gnu[2], *chain = bucket + gnu[0];
    uint32_t last = 0;
    for (uint32_t i = 0; i < gnu[0]; i++)
        if (bucket[i] > last) last = bucket[i];
    while (last >= gnu[1] && !(chain[last - gnu[1]] & 1)) last++;
    return last + 1;
}

static void all_names_of_a_library(const char *soname)
{
    struct link_map *l;
    void *handle = dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
    if (!handle) return; /* the C++ library is not installed */
    const ElfW(Sym) *symbol = NULL;
    const char *text = NULL;
    assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &l), 0);
    const uint32_t n = symbols_of(l, &symbol, &text);
    assert_true(n > 10);
    for (uint32_t i = 1; i < n; i++)
        if (symbol[i].st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol[i].st_info) != STT_TLS)
            same(text + symbol[i].st_name);
    dlclose(handle);
}

static void every_name_of_the_libraries_is_found_as_by_the_loader(void **state)
{
    (void)state;
    static const char *const libraries[] = { "libc.so.6", "libm.so.6", "libstdc++.so.6", LOADER };
    compared = 0;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        all_names_of_a_library(libraries[i]);
    assert_true(compared > 3000);
}

static void a_library_that_is_opened_later_is_not_searched(void **state)
{
    (void)state;
    void *handle = dlopen(LATE_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    assert_non_null(handle);
    assert_non_null(dlsym(RTLD_DEFAULT, "late_function"));
    assert_null(mp_symbol_next("late_function"));
    dlclose(handle);
}

static void the_first_object_that_defines_a_name_is_returned(void **state)
{
    (void)state;
    assert_true(mp_symbol_before_libc());
    assert_null(mp_symbol_before("malloc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_are_found_as_the_loader_finds_them),
        cmocka_unit_test(names_that_do_not_exist_are_not_found),
        cmocka_unit_test(old_symbol_versions_are_skipped),
        cmocka_unit_test(every_name_of_the_libraries_is_found_as_by_the_loader),
        cmocka_unit_test(a_library_that_is_opened_later_is_not_searched),
        cmocka_unit_test(the_first_object_that_defines_a_name_is_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
