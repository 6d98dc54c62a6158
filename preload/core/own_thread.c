#include "core/own_thread.h"

#include <link.h>
#include <pthread.h>

#include "base/sys.h"

#ifndef SYS_rseq
#define SYS_rseq 334
#endif

/* A new thread of the C library ends the process if a seccomp filter that the program installed
 * refuses the rseq call, which succeeded for the first thread. Other refused calls only return
 * errors. */
static long at_start;

/* The flags are invalid, so the call has no effect. */
static long try_rseq(void) { return mp_sys6(SYS_rseq, 0, 0, -1, 0, 0, 0); }

void mp_own_thread_init(void) { at_start = try_rseq(); }

/* Memprof maps the stack itself. Its lowest page cannot be accessed. */
static int start(void *(*run)(void *), size_t stack)
{
    pthread_attr_t attr;
    pthread_t thread;
    const size_t page = mp_sys_page();
    uint8_t *const memory = mp_sys_map(page + stack);
    if (!memory || pthread_attr_init(&attr) != 0) return ENOMEM;
    mp_sys3(SYS_mprotect, (long)memory, (long)page, PROT_NONE);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int error = pthread_attr_setstack(&attr, memory + page, stack);
    if (!error) error = pthread_create(&thread, &attr, run, NULL);
    pthread_attr_destroy(&attr);
    if (error) mp_sys_munmap(memory, page + stack);
    return error;
}

static int add_tls(struct dl_phdr_info *info, size_t size, void *sum)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_TLS) *(size_t *)sum += p->p_memsz + p->p_align;
    }
    return 0;
}

/* The C library takes the static thread-local storage of all objects from the stack, megabytes in
 * some programs, and refuses a stack that is too small for it (EINVAL). */
bool mp_own_thread(void *(*run)(void *))
{
    enum { OWN = 256 << 10, TRIES = 4 };
    size_t tls = 0;
    if (mp_sys_signals_come || try_rseq() != at_start) return false;
    dl_iterate_phdr(add_tls, &tls);
    size_t stack = (OWN + tls + OWN - 1) / OWN * OWN;
    int error = EINVAL;
    for (int i = 0; error == EINVAL && i < TRIES; i++, stack *= 2) error = start(run, stack);
    return !error;
}
