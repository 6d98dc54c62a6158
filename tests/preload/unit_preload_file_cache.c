/* A NUMA node's meminfo is parsed, and is read for the right devices only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/file_cache.h"
#include "mpf/event.h"
#include "mpf/sample.h"

static void shared_memory_does_not_count_as_file_cache(void **state)
{
    (void)state;
    static const char meminfo[] = "Node 1 MemTotal:       98304000 kB\n"
                                  "Node 1 FilePages:       3000000 kB\n"
                                  "Node 1 Mapped:             1000 kB\n"
                                  "Node 1 Shmem:           1000000 kB\n"
                                  "Node 1 ShmemHugePages:        7 kB\n";
    assert_int_equal(mp_file_cache_in(meminfo), UINT64_C(2000000) << 10);
    assert_int_equal(mp_file_cache_in("Node 1 FilePages: 3 kB\nNode 1 Shmem: 5 kB\n"), 0);
}

static void missing_lines_of_meminfo_are_unknown(void **state)
{
    (void)state;
    assert_true(mp_file_cache_in("") == MPF_UNKNOWN);
    assert_true(mp_file_cache_in("Node 1 FilePages: 3 kB\n") == MPF_UNKNOWN);
}

static void only_devices_that_are_numa_nodes_have_a_file_cache(void **state)
{
    (void)state;
    if (access("/sys/devices/system/node/node0/meminfo", R_OK) != 0) skip();
    mp_file_cache_watch(1, 0);
    mp_file_cache_watch(2, 100000); /* this node does not exist */
    mp_file_cache_watch(MPF_GPUS, 0);
    mp_file_cache_read();
    assert_true(mp_file_cache(1) != MPF_UNKNOWN);
    assert_true(mp_file_cache(0) == MPF_UNKNOWN);
    assert_true(mp_file_cache(2) == MPF_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_does_not_count_as_file_cache),
        cmocka_unit_test(missing_lines_of_meminfo_are_unknown),
        cmocka_unit_test(only_devices_that_are_numa_nodes_have_a_file_cache),
    };
    return cmocka_run_group_tests_name("file_cache", tests, NULL, NULL);
}
