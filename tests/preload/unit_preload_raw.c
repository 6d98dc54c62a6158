/* If the program's files do not have a hooked function, a replacement is called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "emulated.h"
#include "real/raw.h"
#include "real/real.h"

/* This also holds before any look-up. */
static void hooks_always_have_a_function_to_call(void **state)
{
    (void)state;
    const void *const called[] = {
        (void *)mp_real.malloc,
        (void *)mp_real.calloc,
        (void *)mp_real.realloc,
        (void *)mp_real.free,
        (void *)mp_real.memalign,
        (void *)mp_real.aligned_alloc,
        (void *)mp_real.posix_memalign,
        (void *)mp_real.valloc,
        (void *)mp_real.pvalloc,
        (void *)mp_real.mmap,
        (void *)mp_real.mmap64,
        (void *)mp_real.munmap,
        (void *)mp_real.mremap,
        (void *)mp_real.mprotect,
        (void *)mp_real.shmat,
        (void *)mp_real.shmdt,
        (void *)mp_real.execve,
        (void *)mp_real.execv,
        (void *)mp_real.execvp,
        (void *)mp_real.execvpe,
        (void *)mp_real.fexecve,
        (void *)mp_real.execveat,
        (void *)mp_real.pthread_setname_np,
        (void *)mp_real.prctl,
        (void *)mp_real.dlclose,
        (void *)mp_real.unshare,
        (void *)mp_real.setns,
        (void *)mp_real.mlockall,
        (void *)mp_real.brk,
        (void *)mp_real.sbrk,
    };
    assert_false(mp_real_known);
    for (size_t i = 0; i < sizeof called / sizeof *called; i++) assert_non_null(called[i]);
}

static void mapping_functions_call_the_kernel(void **state)
{
    (void)state;
    enum { PAGE = 4096 };
    char *p = mp_raw_mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    assert_int_equal(mp_raw_mprotect(p, PAGE, PROT_READ | PROT_WRITE), 0);
    strcpy(p, "kept");
    p = mp_raw_mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
    assert_string_equal(p, "kept");
    assert_int_equal(mp_raw_munmap(p, 2 * PAGE), 0);
    assert_ptr_equal(mp_raw_mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                     MAP_FAILED);
    assert_int_equal(errno, EINVAL);
}

static void break_functions_call_the_kernel(void **state)
{
    (void)state;
    enum { PAGE = 4096 };
    char *const before = mp_raw_sbrk(PAGE);
    assert_ptr_equal(mp_raw_sbrk(0), before + PAGE);
    strcpy(before, "kept");
    assert_int_equal(mp_raw_brk(before), 0);
    assert_ptr_equal(mp_raw_sbrk(0), before);
    assert_ptr_equal(mp_raw_sbrk((intptr_t)1 << 60), (void *)-1);
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(mp_raw_brk(NULL), 0);
    assert_ptr_equal(mp_raw_sbrk(0), before);
}

static void allocation_functions_call_the_c_library(void **state)
{
    (void)state;
    void *p = NULL;
    assert_int_equal(mp_raw_posix_memalign(&p, 256, 1000), 0);
    assert_int_equal((uintptr_t)p % 256, 0);
    free(p);
}

static void functions_without_a_replacement_fail(void **state)
{
    (void)state;
    if (emulator_lacks("execveat")) skip();
    char name[16];
    char *const argv[] = { NULL };
    assert_int_equal(mp_raw_prctl(PR_GET_NAME, name), 0);
    assert_int_equal(mp_raw_execve("/no/such/file", argv, environ), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(mp_raw_execvp("true", argv), -1);
    assert_int_equal(errno, ENOSYS);
    assert_int_equal(mp_raw_pthread_setname_np(pthread_self(), "name"), ENOSYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_always_have_a_function_to_call),
        cmocka_unit_test(mapping_functions_call_the_kernel),
        cmocka_unit_test(break_functions_call_the_kernel),
        cmocka_unit_test(allocation_functions_call_the_c_library),
        cmocka_unit_test(functions_without_a_replacement_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
