/* Each frame (a place in a code object) and each stack is recorded once, under a hash of what it is made of. */
#include "python.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "mpf/event.h"
#include "python_frames.h"
#include "record.h"
#include "seen.h"
#include "text.h"

enum { DEPTH = 64, FRAMES = 1 << 15, STACKS = 1 << 15, NAME_BYTES = 1024 };

static uint64_t frames_seen[FRAMES], stacks_seen[STACKS];
static struct mp_python python;
static const void *(*thread_state)(void);       /* NULL: no Python that we know */

static uint64_t frame_id(const struct mp_python_place *f)
{
    const uint64_t words[] = { (uintptr_t)f->code, f->instruction, (uintptr_t)mp_python_pointer(f->code, python.layout.code_name),
                               (uintptr_t)mp_python_pointer(f->code, python.layout.code_lines) };
    return mp_seen_id(words, sizeof words / sizeof *words);
}

static void record_frame(uint64_t id, const struct mp_python_place *f)
{
    uint8_t data[sizeof(uint64_t) + 2 * NAME_BYTES];
    const uint64_t line = mp_python_line(&python, f);
    size_t n = sizeof line;
    memcpy(data, &line, sizeof line);
    n += mp_python_text(&python, mp_python_pointer(f->code, python.layout.code_name), data + n, NAME_BYTES) + 1;
    n += mp_python_text(&python, mp_python_pointer(f->code, python.layout.code_file), data + n, NAME_BYTES) + 1;
    mp_record_data(MPF_OP_FRAME, MPF_HEAP_NONE, id, data, n);
    mp_seen_add(frames_seen, FRAMES, id);
}

void mp_python_at(void)
{
    struct mp_python_place f[DEPTH];
    uint64_t id[DEPTH];
    const void *(*state)(void) = __atomic_load_n(&thread_state, __ATOMIC_ACQUIRE);
    if (!state) return;
    const unsigned n = mp_python_walk(&python, state(), f, DEPTH);
    if (!n) return;
    for (unsigned i = 0; i < n; i++) id[i] = frame_id(&f[i]);
    const uint64_t stack = mp_seen_id(id, n);
    if (!mp_seen(stacks_seen, STACKS, stack)) {
        for (unsigned i = 0; i < n; i++)
            if (!mp_seen(frames_seen, FRAMES, id[i])) record_frame(id[i], &f[i]);
        mp_record_data(MPF_OP_PYTHON, MPF_HEAP_NONE, stack, id, n * sizeof *id);
        mp_seen_add(stacks_seen, STACKS, stack);
    }
    mp_record(MPF_OP_AT_PYTHON, MPF_HEAP_NONE, stack, 0);
}

/* ---- the interpreter */

/* "3.12.1 (main, ...)": 0x30c; 0: something else. */
static unsigned version_in(const char *text)
{
    char *end;
    const unsigned long major = strtoul(text, &end, 10), minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major < 256 && minor < 256 ? (unsigned)(major << 8 | minor) : 0;
}

static bool look_up(const char *(*version)(void))
{
    python.code = dlsym(RTLD_DEFAULT, "PyCode_Type");
    python.text = dlsym(RTLD_DEFAULT, "PyUnicode_Type");
    python.bytes = dlsym(RTLD_DEFAULT, "PyBytes_Type");
    const bool debug_build = dlsym(RTLD_DEFAULT, "_Py_NegativeRefcount");
    return python.code && python.text && python.bytes && version && !debug_build &&
           mp_python_layout(version_in(version()), dlsym(RTLD_DEFAULT, "_PyRuntime"), &python.layout);
}

void mp_python_start(void)
{
    static uint32_t started;
    if (__atomic_load_n(&started, __ATOMIC_RELAXED) || !mp_config.python || __atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL)) return;
    const void *(*state)(void) = (__typeof__(state))dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    if (!state) return;
    if (look_up((const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion"))) __atomic_store_n(&thread_state, state, __ATOMIC_RELEASE);
    else mp_say("Python frames are not recorded: this memprof knows those of CPython 3.9 to 3.14 (MEMPROF_PYTHON=off)", NULL, NULL, NULL);
}
