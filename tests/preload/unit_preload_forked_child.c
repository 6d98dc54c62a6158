/* A forked child uses the parent's thread record until it has its own. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/config.h"
#include "core/process.h"
#include "core/record.h"
#include "core/threads.h"
#include "recording.h"

static void record_one(void) { mp_record(MPF_OP_ALLOC, MPF_HEAP_HOST, 16, 1); }

static void *other_thread(void *arg)
{
    record_one();
    *(struct mp_thread **)arg = mp_self;
    return NULL;
}

/* From now on no chunk is available, and no thread waits for one. */
static void refuse_chunks(struct mp_pool *pool)
{
    pool->chunks = MP_POOL_PLACES;
    pool->stalled = pool->frames + 1;
}

/* The forking thread has the first record, as has the first thread of the child that registers. */
static void child(void)
{
    if (!mp_process_ready()) _exit(91);
    mp_process->known = 0;
    const uint32_t chunks = mp_process->pool.chunks;
    refuse_chunks(&mp_process->pool);
    record_one();
    mp_process->pool.chunks = chunks;

    pthread_t thread;
    struct mp_thread *others = NULL;
    pthread_create(&thread, NULL, other_thread, &others);
    pthread_join(thread, NULL);
    if (!others || mp_self == others) _exit(92);
    record_one();
    if (!mp_self || mp_self == others) _exit(93);
    mp_config.min_rss = UINT64_MAX; /* the process leaves no log */
    mp_process_finish("exit");
    _exit(0);
}

static void fork_a_child(void)
{
    record_one();
    const pid_t pid = fork();
    if (pid == 0) child();
    int status;
    if (waitpid(pid, &status, 0) != pid || status)
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 94);
}

static void a_failed_registration_shares_no_record(void **state)
{
    (void)state;
    assert_int_equal(recorded(fork_a_child).op[MPF_OP_ALLOC], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_failed_registration_shares_no_record) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
