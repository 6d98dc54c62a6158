/* Order at the attach: the log exists before the first call reaches a hook. At the detach the log
 * ends first, so that it has no block whose free does not reach a hook any more. */
#include "hooks/attach.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/allocator.h"
#include "core/config.h"
#include "core/counted.h"
#include "core/logfile.h"
#include "core/process.h"
#include "core/sample.h"
#include "core/say.h"
#include "core/tmpfs.h"
#include "core/window.h"
#include "core/worker.h"
#include "hooks/hook_malloc.h"
#include "hooks/init.h"
#include "hooks/shm.h"
#include "hooks/slots.h"
#include "mpf/sample.h"
#include "python/python.h"
#include "real/real.h"
#include "stacks/stack.h"

#define EXPORT  __attribute__((visibility("default")))
#define FILE_NS UINT64_C(1000000000)

EXPORT struct mpf_attach_status memprof_attach_status = { .version = MPF_ATTACH_VERSION };
#define STATUS memprof_attach_status

static void keep_log_path(void)
{
    struct mp_text t = MP_TEXT(STATUS.log);
    mp_text_str(&t, mp_logfile_path());
}

void mp_attach_is_loaded(void) { __atomic_store_n(&STATUS.loaded, 1, __ATOMIC_RELEASE); }

void mp_attach_is_preloaded(void)
{
    keep_log_path();
    __atomic_store_n(&STATUS.state, MPF_ATTACH_PRELOADED, __ATOMIC_RELEASE);
}

static void read_settings(const struct mpf_attach_request *r)
{
    STATUS.message[0] = 0;
    mp_say_into(STATUS.message, sizeof STATUS.message);
    mp_config_give(r->variables, r->variables_bytes);
    mp_config_read();
    mp_config_give("", 0);
}

/* On the worker, because it opens descriptors. */
static bool find_shared_memory(void)
{
    mp_shm_init();
    return true;
}

/* As the constructor does for a preloaded library, without changing the environment of the program,
 * which its threads may read. */
static void prepare(void)
{
    mp_real_attach();
    mp_real_allocator();
    mp_clock_init();
    mp_counted_attach();
    mp_allocator_init();
    mp_hooks_choose();
    mp_window_init();
    if (mp_config.stacks != MP_STACKS_OFF && !mp_stack_init()) mp_config.stacks = MP_STACKS_OFF;
    mp_python_start();
    mp_process_adopt(true);
}

static bool start(const struct mpf_attach_request *r)
{
    if (!mp_process_attach(r->children, mp_counted_before())) return false;
    mp_worker_run(find_shared_memory, FILE_NS);
    mp_init_ends();
    mp_window_start(true);
    return true;
}

static enum mpf_attach_state attach(const struct mpf_attach_request *r)
{
    read_settings(r);
    prepare();
    STATUS.slots = mp_slots_take((pthread_mutex_t *)(uintptr_t)r->loader_lock);
    if (!start(r)) {
        mp_slots_give_back();
        return MPF_ATTACH_FAILED;
    }
    keep_log_path();
    return MPF_ATTACH_ON;
}

static bool is_recorded(void)
{
    return STATUS.state == MPF_ATTACH_PRELOADED || STATUS.state == MPF_ATTACH_ON;
}

/* Two launchers may let two threads call these at once. The second call changes nothing. */
static uint32_t busy;

static bool begins(void) { return !__atomic_exchange_n(&busy, 1, __ATOMIC_ACQ_REL); }

static void ends(enum mpf_attach_state state)
{
    __atomic_store_n(&STATUS.state, state, __ATOMIC_RELEASE);
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    __atomic_fetch_add(&STATUS.answers, 1, __ATOMIC_RELEASE);
}

EXPORT void memprof_attach(const struct mpf_attach_request *r)
{
    const int saved = errno;
    if (!begins()) return;
    const bool valid = r->version == MPF_ATTACH_VERSION && !is_recorded();
    ends(valid ? attach(r) : STATUS.state);
    errno = saved;
}

EXPORT void memprof_detach(void)
{
    const int saved = errno;
    if (!begins()) return;
    const bool valid = STATUS.state == MPF_ATTACH_ON;
    if (valid) {
        mp_process_finish("detach");
        mp_slots_give_back();
        mp_process_leave();
    }
    ends(valid ? MPF_ATTACH_LEFT : STATUS.state);
    errno = saved;
}
