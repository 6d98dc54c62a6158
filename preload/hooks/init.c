/* Start and regular end of the recording.
 *
 * Recording starts in the constructor or after the first allocation, whichever is earlier, because
 * constructors of other libraries may run before this one. (-z initfirst would run it first, but
 * before the C library has an environment.) Starting calls the C library and the loader, which take
 * their locks and memory. Other hooks must not start it, because an allocator may have called them
 * under its lock. After an allocation no such lock is held if these hooks serve the program.
 * Otherwise (mp_real_has_heap) only the constructor starts.
 *
 * The functions registered with on_exit here run last, after the destructors of all libraries, so
 * their events are still recorded. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/text.h"
#include "core/allocator.h"
#include "core/config.h"
#include "core/counted.h"
#include "core/feature.h"
#include "core/logfile.h"
#include "core/measure.h"
#include "core/names.h"
#include "core/process.h"
#include "core/record.h"
#include "core/sample.h"
#include "core/say.h"
#include "core/tmpfs.h"
#include "core/variables.h"
#include "core/window.h"
#include "hooks/attach.h"
#include "hooks/hook_malloc.h"
#include "hooks/init.h"
#include "hooks/shm.h"
#include "mpf/sample.h"
#include "nvtx/schemas.h"
#include "python/pymalloc.h"
#include "python/python.h"
#include "real/real.h"
#include "real/symbol.h"
#include "stacks/module.h"
#include "stacks/stack.h"
#include "torch/torch_numbers.h"
#ifdef MEMPROF_CUDA
#include "cuda/by_name.h"
#include "cuda/cupti.h"
#endif

/* Another malloc, in the program or in a library before this one, serves the program's calls. */
static void say_no_heap(void)
{
    mp_say(
        mp_real_allocator(),
        " provides malloc instead of libmemprof.so: its blocks are not recorded, everything else is",
        NULL, NULL);
}

/* Sets a variable without the program's heap: glibc's setenv would leave blocks there that the
 * program did not allocate. glibc accepts an environment that is not its own array, and copies it
 * before it changes it. */
static void set_variable(char *entry)
{
    static char **array;
    static size_t places;
    const size_t name = strcspn(entry, "=") + 1;
    size_t n = 0, place = SIZE_MAX;
    for (; environ[n]; n++)
        if (!strncmp(environ[n], entry, name)) place = n;
    if (n + 2 > places) {
        const size_t more = 2 * n + 512;
        char **const larger = mp_sys_map(more * sizeof *larger);
        if (!larger) return;
        array = larger; /* the program may have kept the previous one */
        places = more;
    }
    memmove(array, environ, n * sizeof *array);
    if (place == SIZE_MAX) place = n++;
    array[place] = entry;
    array[n] = NULL;
    environ = array;
}

static void set_text(char *buf, size_t cap, const char *name, const char *value)
{
    struct mp_text t = { buf, cap, 0, false };
    mp_text_str(&t, name);
    mp_text_str(&t, value);
    if (!t.full) set_variable(buf);
}

/* The first recorded process of a tree is the user's. It stays that through exec, which keeps the
 * process ID. */
/* The library itself only writes. Another process must thin the log. */
static void say_keep(void)
{
    if (mp_config.keep[0] && !mp_config.folded)
        mp_say(
            "the log grows beyond MEMPROF_KEEP until this command thins it: memprof-report log compact "
            "--follow ",
            mp_logfile_word(), NULL, NULL);
}

static bool adopt_root(void)
{
    static char entry[64];
    char me[16];
    struct mp_text t = MP_TEXT(me);
    mp_text_u64(&t, (uint64_t)mp_sys_getpid());
    const char *root = secure_getenv("MEMPROF_ROOT");
    if (!root) {
        mp_variables_check(environ); /* once per process tree */
        set_text(entry, sizeof entry, "MEMPROF_ROOT=", me);
    }
    return !root || !strcmp(root, me);
}

/* Returns the path of this library, or NULL if the loader does not know it. */
static const char *own_path(void)
{
    Dl_info self;
    return dladdr((void *)own_path, &self) ? self.dli_fname : NULL;
}

/* Sets "NAME=" to the path of this library. If the user had set another library there, this library
 * calls it. */
static void inject(const char *name, char *variable, const char *chain_name, char *chain,
                   size_t cap)
{
    const char *self = own_path();
    char plain[64] = "";
    if (!self) return;
    memcpy(plain, name, strlen(name) - 1);
    const char *other = secure_getenv(plain);
    if (other && strcmp(other, self) != 0) set_text(chain, cap, chain_name, other);
    set_text(variable, cap, name, self);
}

/* NVTX's headers load the library named here. */
static void enter_nvtx(void)
{
    static char chain[PATH_MAX + 32], variable[PATH_MAX + 32];
    inject("NVTX_INJECTION64_PATH=", variable, "MEMPROF_NVTX_CHAIN=", chain, sizeof variable);
}

#ifdef MEMPROF_CUDA
/* Nsight Compute refuses to profile while the variable is set, so a value that this library set
 * earlier is removed. */
static void leave_cuda(void)
{
    static char variable[PATH_MAX + 32];
    const char *self = own_path(), *set = secure_getenv("CUDA_INJECTION64_PATH"),
               *chain = secure_getenv("MEMPROF_CUDA_CHAIN");
    mp_cupti_give_up();
    mp_say(
        "CUDA allocations are not recorded: Nsight Compute profiles this process and allows no other tool",
        NULL, NULL, NULL);
    if (!set || !self || strcmp(set, self) != 0) return;
    if (chain) set_text(variable, sizeof variable, "CUDA_INJECTION64_PATH=", chain);
    else unsetenv("CUDA_INJECTION64_PATH");
}

static void say_no_companion(void)
{
    if (mp_config.cuda == MP_CUDA_INTERPOSE && !mp_by_name_is_here())
        mp_say(
            "MEMPROF_CUDA=interpose needs libmemprof-cuda.so as the last library of LD_PRELOAD, as memprof "
            "run sets it; CUPTI is used",
            NULL, NULL, NULL);
}

/* The CUDA driver loads the library named here in cuInit. */
static void enter_cuda(void)
{
    static char chain[PATH_MAX + 32], variable[PATH_MAX + 32];
    if (secure_getenv("NV_COMPUTE_PROFILER_PERFWORKS_DIR"))
        leave_cuda(); /* set by Nsight Compute */
    else inject("CUDA_INJECTION64_PATH=", variable, "MEMPROF_CUDA_CHAIN=", chain, sizeof variable);
}
#endif

static void at_exit(int status, void *arg)
{
    (void)status;
    (void)arg;
    mp_process_finish("exit");
}

static void at_quick(void) { mp_process_finish("quick_exit"); }

/* The child's next block is examined, and starts its log. */
static void in_child(void)
{
    mp_process_forked();
    mp_sampled_left = 0;
}

void mp_init_ends(void)
{
    static bool done;
    if (done) return;
    done = true;
    pthread_atfork(NULL, NULL, in_child);
    on_exit(at_exit, NULL);
    at_quick_exit(at_quick);
}

/* A user who starts a program with more rights (setuid, file capabilities) must not be able to make
 * it write files. */
static bool is_trusted(void) { return !getauxval(AT_SECURE); }

static void enter(void)
{
    mp_real_ready();
    if (!is_trusted() || !mp_symbol_before_libc())
        return; /* a copy that was loaded later does nothing, until memprof_attach is called */
    mp_say_init();
    mp_config_read();
    if (!mp_config_wants(mp_sys_program_name(), mp_sys_executed_name())) return;
    mp_real_allocator(); /* looked up here, because the loader's lock is free */
    mp_clock_init();
    mp_shm_init();
    mp_counted_init();
    mp_allocator_init();
    mp_window_init();
    if (mp_config.stacks != MP_STACKS_OFF && !mp_stack_init()) mp_config.stacks = MP_STACKS_OFF;
    mp_python_start();
    const bool root = adopt_root();
    mp_process_adopt(root);
    if (root && !mp_real_has_heap) say_no_heap();
    if (root) mp_counted_say();
    enter_nvtx();
#ifdef MEMPROF_CUDA
    if (root) say_no_companion();
    enter_cuda();
#endif
    const uint64_t limit = root ? mp_sample_cgroup_limit() : MPF_UNKNOWN;
    if (!mp_process_init()) return;
    mp_tmpfs_init(limit);
    if (root) say_keep();
    mp_window_start(root);
    mp_attach_is_preloaded();
    mp_init_ends();
}

static void enter_once(void)
{
    static uint32_t entered;
    if (!environ || __atomic_exchange_n(&entered, 1, __ATOMIC_ACQ_REL)) return;
    const int saved = errno;
    enter();
    mp_hooks_choose();
    errno = saved;
}

__attribute__((constructor)) static void construct(void)
{
    enter_once();
    mp_attach_is_loaded();
}

/* ---- the table of features */

/* Returns true if an event of this kind has a Python stack: that of a large block, of a sampled
 * object of pymalloc, or of a small block that has a native stack. */
static bool has_python(unsigned op, unsigned heap, uint64_t size, uint64_t stack)
{
    return mp_stack_large(op, heap, size) || (heap == MPF_HEAP_PYTHON && op == MPF_OP_ALLOC) ||
           (stack &&
            (mp_config.stacks >= MP_STACKS_SAMPLE || mp_record_is_sampled_block(op, heap)));
}

static uint64_t python_of(unsigned op, unsigned heap, uint64_t size, uint64_t stack)
{
    if (heap == MPF_HEAP_MMAP && mp_pymalloc_is_mapping()) {
        const uint64_t arena = mp_python_named(MPF_PYMALLOC_ARENA);
        __atomic_store_n(&mp_measure_arena_stack, arena, __ATOMIC_RELAXED);
        return arena;
    }
    return has_python(op, heap, size, stack) ? mp_python_here() : 0;
}

static bool has_place(unsigned op, unsigned heap, uint64_t size, bool sampled)
{
    return mp_stack_is_wanted(op, heap, size, sampled) || mp_python_may_run();
}

/* Resets the state that a forked child must not inherit: which data the parent's log has, and
 * CUDA's sampler. Most of it is in memory that the kernel wipes, but not every kernel does. */
static void (*const forked[])(void) = {
    mp_names_reset,
    mp_schemas_reset,
    mp_module_reset,
    mp_stack_reset,
    mp_python_reset,
    mp_pymalloc_reset,
    mp_counted_reset,
    mp_measure_reset,
    mp_window_reset,
#ifdef MEMPROF_CUDA
    mp_cupti_reset,
#endif
    NULL,
};

const struct mp_features mp_features = {
    .enter = enter_once,
    .stack = mp_stack_of,
    .python = python_of,
    .has_place = has_place,
    .before_range = mp_torch_next_again,
    .forked = forked,
};
