/* raw_thread.h for builds with a sanitizer, whose runtime must know every thread: these are threads
 * of the C library. Their new table is a copy of the starting thread's table. */
#include <pthread.h>
#include <sched.h>

#include "base/raw_thread.h"
#include "base/sys.h"

int mp_raw_thread_status;

bool mp_raw_thread_prepare(struct mp_raw_thread *thread)
{
    (void)thread;
    return true;
}

static void *run(void *arg)
{
    struct mp_raw_thread *thread = arg;
    __atomic_store_n(&thread->tid, (uint32_t)mp_sys_gettid(), __ATOMIC_RELEASE);
    if (thread->table == MP_TABLE_SHARED || mp_sys3(SYS_unshare, CLONE_FILES, 0, 0) == 0)
        thread->run();
    __atomic_store_n(&thread->running, 0, __ATOMIC_RELEASE);
    return NULL;
}

bool mp_raw_thread_start(struct mp_raw_thread *thread, void (*f)(void), enum mp_raw_table table)
{
    pthread_t id;
    if (mp_sys_signals_come) return false;
    thread->run = f;
    thread->table = table;
    __atomic_store_n(&thread->running, 1, __ATOMIC_RELEASE);
    const bool ok = pthread_create(&id, NULL, run, thread) == 0 && pthread_detach(id) == 0;
    if (!ok) __atomic_store_n(&thread->running, 0, __ATOMIC_RELEASE);
    return ok;
}

bool mp_raw_thread_call(struct mp_raw_thread *thread, void (*f)(void *), void *arg)
{
    (void)thread, (void)f, (void)arg;
    return false;
}

bool mp_raw_thread_await_end(struct mp_raw_thread *thread, uint64_t ns)
{
    struct mp_patience patience = mp_patience(ns);
    while (__atomic_load_n(&thread->running, __ATOMIC_ACQUIRE))
        if (!mp_wait(&patience, &thread->running, 1, 50000u)) return false;
    return true;
}
