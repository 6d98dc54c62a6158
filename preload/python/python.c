/* Each frame (a place in a code object, and the module whose method runs there) and each stack is
 * recorded once, with a hash of its parts as its ID. A module is identified by its address, its
 * class, and the modules around it. */
#include "python/python.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cold.h"
#include "base/loader.h"
#include "base/seen.h"
#include "base/sys.h"
#include "base/text.h"
#include "core/config.h"
#include "core/loss.h"
#include "core/process.h"
#include "core/record.h"
#include "core/say.h"
#include "mpf/event.h"
#include "python/pymalloc.h"
#include "python/python_frames.h"
#include "python/python_modules.h"

enum {
    DEPTH = 64,
    FRAMES = 1 << 17,
    STACKS = 1 << 17,
    NAME_BYTES = 1024,
    CLASS_BYTES = 128,
    PATH_BYTES = 256
};

/* There are many more modules than code objects, so when the sets are this full, frames of
 * different modules share one ID. */
enum { WITH_MODULES = FRAMES / 4 * 3 };

/* The frames in the log. Wiped in a forked child, which has another log. */
static struct {
    uint64_t frames[FRAMES], stacks[STACKS];
    uint32_t recorded, generation;
} * in_log;
static struct mp_python python;
static const void *(*thread_state)(void); /* NULL without a Python of a known version */

static const void *pointer_in_code(const struct mp_python_place *f, size_t offset)
{
    return mp_python_pointer(f->code, offset);
}

/* @around: a hash of the modules of the outer frames, which then includes the frame's own. */
static uint64_t frame_id(const struct mp_python_place *f, uint64_t *around)
{
    uint64_t words[] = { (uintptr_t)f->code, f->instruction,
                         (uintptr_t)pointer_in_code(f, python.layout.code_name),
                         (uintptr_t)pointer_in_code(f, python.layout.code_lines), 0 };
    if (f->module) {
        const uint64_t modules[] = { *around, (uintptr_t)f->module,
                                     (uintptr_t)mp_python_pointer(f->module, MP_PYTHON_TYPE) };
        words[4] = *around = mp_seen_id(modules, sizeof modules / sizeof *modules);
    }
    return mp_seen_id(words, sizeof words / sizeof *words);
}

/* Writes the function's qualified name, or for a module's method "Class.method [path.to.module]".
 * The bytes include the terminating zero. */
static size_t put_name(const struct mp_python_place *f, unsigned at, unsigned places, uint8_t *out)
{
    char class[CLASS_BYTES], path[PATH_BYTES];
    size_t n =
        mp_python_text(&python, pointer_in_code(&f[at], python.layout.code_name), out, NAME_BYTES);
    const size_t class_bytes =
        f[at].module ? mp_python_class(&python, &f[at], class, sizeof class) : 0;
    if (!class_bytes || n + class_bytes + PATH_BYTES + 4 > NAME_BYTES) return n + 1;
    const char *dot = strrchr((char *)out, '.'), *method = dot ? dot + 1 : (char *)out;
    const size_t method_bytes = strlen(method);
    memmove(out + class_bytes + 1, method, method_bytes);
    memcpy(out, class, class_bytes);
    out[class_bytes] = '.';
    n = class_bytes + 1 + method_bytes;
    const size_t path_bytes = mp_python_path(&python, f, at, places, path, sizeof path);
    if (path_bytes) {
        out[n++] = ' ';
        out[n++] = '[';
        memcpy(out + n, path, path_bytes);
        n += path_bytes;
        out[n++] = ']';
    }
    out[n] = 0;
    return n + 1;
}

static void record_frame(uint64_t id, uint32_t log, const struct mp_python_place *f, unsigned at,
                         unsigned places)
{
    uint8_t data[sizeof(uint64_t) + 2 * NAME_BYTES];
    const uint64_t line = mp_python_line(&python, &f[at]);
    size_t n = sizeof line;
    memcpy(data, &line, sizeof line);
    n += put_name(f, at, places, data + n);
    n += mp_python_text(&python, pointer_in_code(&f[at], python.layout.code_file), data + n,
                        NAME_BYTES) +
         1;
    mp_record_data(MPF_OP_FRAME, MPF_HEAP_NONE, id, data, n);
    mp_seen_add(in_log->frames, FRAMES, mp_seen_in(id, log));
    __atomic_fetch_add(&in_log->recorded, 1, __ATOMIC_RELAXED);
}

/* Records a frame that is not a place in code, and returns its ID. @name: shorter than a
 * kibibyte. */
static MP_COLD uint64_t named_frame(const char *name, uint32_t log)
{
    uint8_t data[sizeof(uint64_t) + NAME_BYTES] = { 0 }; /* line 0, the name, no file */
    uint64_t words[NAME_BYTES / sizeof(uint64_t)] = { 0 };
    const size_t length = strlen(name);
    if (length >= sizeof words - sizeof *words) return 0;
    memcpy(words, name, length);
    const uint64_t id = mp_seen_id(words, length / sizeof *words + 1);
    if (mp_seen(in_log->frames, FRAMES, mp_seen_in(id, log))) return id;
    memcpy(data + sizeof(uint64_t), name, length);
    mp_record_data(MPF_OP_FRAME, MPF_HEAP_NONE, id, data, sizeof(uint64_t) + length + 2);
    mp_seen_add(in_log->frames, FRAMES, mp_seen_in(id, log));
    return id;
}

/* @frame: IDs of the @n places in @f, then IDs of named frames. */
static MP_COLD void record_stack(uint64_t id, uint32_t log, const uint64_t *frame, unsigned frames,
                                 const struct mp_python_place *f, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!mp_seen(in_log->frames, FRAMES, mp_seen_in(frame[i], log)))
            record_frame(frame[i], log, f, i, n);
    mp_record_data(MPF_OP_PYTHON, MPF_HEAP_NONE, id, frame, frames * sizeof *frame);
    mp_seen_add(in_log->stacks, STACKS, mp_seen_in(id, log));
    __atomic_fetch_add(&in_log->recorded, 1, __ATOMIC_RELAXED);
}

/* Frames that were recorded before a frame of the log was lost must be recorded again. */
static void forget(uint32_t log)
{
    uint32_t before = __atomic_load_n(&in_log->generation, __ATOMIC_RELAXED);
    if (before == log || !__atomic_compare_exchange_n(&in_log->generation, &before, log, false,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    mp_seen_clear(in_log->frames, FRAMES);
    mp_seen_clear(in_log->stacks, STACKS);
    __atomic_store_n(&in_log->recorded, 0, __ATOMIC_RELAXED);
}

void mp_python_reset(void)
{
    if (in_log) mp_sys_wipe(in_log, sizeof *in_log);
}

/* A stack that has more frames than are kept is cut. */
uint64_t mp_python_here(void)
{
    struct mp_python_place f[DEPTH + 1];
    uint64_t id[DEPTH + 1], around = 0;
    const void *(*state)(void) = __atomic_load_n(&thread_state, __ATOMIC_ACQUIRE);
    if (!state) return 0;
    const unsigned found = mp_python_walk(&python, state(), f, DEPTH + 1),
                   n = found < DEPTH ? found : DEPTH;
    if (!n) return 0;
    const uint32_t log = mp_loss_now();
    forget(log);
    const bool modules = __atomic_load_n(&in_log->recorded, __ATOMIC_RELAXED) < WITH_MODULES;
    for (unsigned i = n; i-- > 0;) {
        if (!modules) f[i].module = NULL;
        id[i] = frame_id(&f[i], &around);
    }
    if (found > n) id[n] = named_frame(mpf_cut_text(MPF_CUT_DEPTH), log);
    const uint64_t stack = mp_seen_id(id, found);
    if (!mp_seen(in_log->stacks, STACKS, mp_seen_in(stack, log)))
        record_stack(stack, log, id, found, f, n);
    return stack;
}

bool mp_python_may_run(void)
{
    const void *(*state)(void) = __atomic_load_n(&thread_state, __ATOMIC_ACQUIRE);
    return state && state();
}

uint64_t mp_python_named(const char *name)
{
    if (!in_log) return 0;
    const uint32_t log = mp_loss_now();
    forget(log);
    const uint64_t frame = named_frame(name, log), stack = mp_seen_id(&frame, 1);
    if (!frame || mp_seen(in_log->stacks, STACKS, mp_seen_in(stack, log))) return frame ? stack : 0;
    mp_record_data(MPF_OP_PYTHON, MPF_HEAP_NONE, stack, &frame, sizeof frame);
    mp_seen_add(in_log->stacks, STACKS, mp_seen_in(stack, log));
    return stack;
}

void mp_python_at(void)
{
    const uint64_t stack = mp_python_here();
    if (stack) mp_record(MPF_OP_AT_PYTHON, MPF_HEAP_NONE, stack, 0);
}

/* ---- the interpreter */

/* An interpreter that is linked or loaded at the start is found by these, because dlsym allocates
 * if it finds nothing. */
extern const void *PyGILState_GetThisThreadState(void) __attribute__((weak));
extern const char _Py_NegativeRefcount[] __attribute__((weak));

static const void *find(const char *name, const void *at_start)
{
    if (at_start || !mp_process_active()) return at_start;
    const void *found = dlsym(RTLD_DEFAULT, name);
    if (!found) mp_loader_forget_error();
    return found;
}

static bool look_up(const char *(*version)(void))
{
    const struct {
        const char *name;
        const void **type;
    } types[] = {
        { "PyCode_Type", &python.code },   { "PyUnicode_Type", &python.text },
        { "PyBytes_Type", &python.bytes }, { "PyTuple_Type", &python.tuple },
        { "PyDict_Type", &python.dict },   { "PyODict_Type", &python.ordered_dict },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!(*types[i].type = dlsym(RTLD_DEFAULT, types[i].name))) return false;
    const bool debug_build = find("_Py_NegativeRefcount", _Py_NegativeRefcount);
    unsigned part[2];
    if (!version || debug_build || !mp_text_version(version(), part)) return false;
    return mp_python_layout(part[0] << 8 | part[1], dlsym(RTLD_DEFAULT, "_PyRuntime"),
                            &python.layout);
}

static void look_for_python(void)
{
    enum { LOOKS = 3 };
    static uint32_t looks;
    if (__atomic_load_n(&looks, __ATOMIC_RELAXED) >= LOOKS) return;
    const void *(*state)(void) = (__typeof__(state))find(
        "PyGILState_GetThisThreadState", (const void *)PyGILState_GetThisThreadState);
    if (__atomic_fetch_add(&looks, state ? LOOKS : 1, __ATOMIC_ACQ_REL) >= LOOKS || !state) return;
    if (!(in_log = mp_sys_map_wiped(sizeof *in_log))) return;
    const bool known = look_up((const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion"));
    mp_loader_forget_error();
    if (known) {
        mp_pymalloc_find(python.layout.version);
        mp_loader_forget_error();
        __atomic_store_n(&thread_state, state, __ATOMIC_RELEASE);
    } else
        mp_say("Python call stacks are not recorded: this memprof supports CPython 3.9 to 3.14 "
               "(MEMPROF_PYTHON=off hides this line)",
               NULL, NULL, NULL);
}

/* An interpreter that is loaded later is looked up again when CUDA and PyTorch are found. */
void mp_python_start(void)
{
    const int saved = errno;
    if (mp_config.python) look_for_python();
    errno = saved;
}
