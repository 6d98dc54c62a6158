/* Each frame (a place in a code object) and each stack is recorded once, under a hash of what it is made of.
 *
 * Objects are only read, and only those that the thread's own frames keep alive: code objects and the names in them. */
#include "python.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "config.h"
#include "mpf/event.h"
#include "record.h"
#include "seen.h"
#include "text.h"

enum { DEPTH = 64, FRAMES = 1 << 15, STACKS = 1 << 15, NAME_BYTES = 1024 };

/* Offsets in bytes; taken from the headers of each version with offsetof. */
struct layout {
    unsigned version;                   /* major << 8 | minor */
    uint8_t state_frame;                /* PyThreadState: its frame, or the cframe that has it */
    bool cframe;
    uint8_t cframe_frame;
    uint8_t frame_code, frame_previous, frame_instr;
    uint8_t frame_owner, no_owner;      /* a frame of this owner is the interpreter's own; no_owner 0: there are none */
    uint8_t code_line, code_start;      /* PyCodeObject: first line; first instruction */
    uint8_t ascii, compact;             /* sizes of the heads of strings */
};
static const struct layout layouts[] = {
    { 0x30b, 56, true,  8, 32, 48, 56, 69, 0, 72, 184, 48, 72 },
    { 0x30c, 56, true,  0, 0,  8,  56, 70, 3, 68, 192, 40, 56 },
    { 0x30d, 72, false, 0, 0,  8,  56, 70, 3, 68, 200, 40, 56 },
};
/* the same in all of them */
enum { OBJECT_TYPE = 8, BYTES_SIZE = 16, BYTES_DATA = 32, TEXT_LENGTH = 16, TEXT_STATE = 32,
       CODE_FILE = 112, CODE_QUALNAME = 128, CODE_LINES = 136 };

static const struct layout *layout;     /* NULL: no Python that we know */
static const void *(*thread_state)(void);
static const void *code_type;

static const void *pointer(const void *object, size_t offset)
{
    const void *p;
    memcpy(&p, (const char *)object + offset, sizeof p);
    return p;
}

static int32_t number(const void *object, size_t offset)
{
    int32_t n;
    memcpy(&n, (const char *)object + offset, sizeof n);
    return n;
}

/* ---- text: at most NAME_BYTES of UTF-8 */

struct text { uint8_t at[2 * NAME_BYTES + 16]; size_t bytes; };

static void add_character(struct text *t, uint32_t c)
{
    uint8_t *p = t->at + t->bytes;
    const unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t head[] = { 0, 0xc0, 0xe0, 0xf0 };
    p[0] = (uint8_t)(head[more] | c >> 6 * more);
    for (unsigned i = 1; i <= more; i++) p[i] = (uint8_t)(0x80 | (c >> 6 * (more - i) & 0x3f));
    t->bytes += more + 1;
}

/* A compact string holds its characters behind its head, 1, 2 or 4 bytes each. */
static void add_string(struct text *t, const void *string)
{
    const uint32_t state = (uint32_t)number(string, TEXT_STATE);
    const unsigned kind = state >> 2 & 7;
    const bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    const uint8_t *data = (const uint8_t *)string + (ascii ? layout->ascii : layout->compact);
    const size_t end = t->bytes + NAME_BYTES - 4, length = (size_t)pointer(string, TEXT_LENGTH);
    for (size_t i = 0; compact && i < length && t->bytes < end; i++) {
        uint32_t c = 0;
        memcpy(&c, data + i * kind, kind <= 4 ? kind : 0);
        add_character(t, c);
    }
    t->at[t->bytes++] = 0;
}

/* ---- lines (PEP 626's table of locations): entries of a head byte, code << 3 | units - 1, and numbers of six bits a byte */

static const uint8_t *varint(const uint8_t *p, const uint8_t *end, uint32_t *value)
{
    *value = 0;
    for (unsigned shift = 0; p < end && shift < 32; shift += 6) {
        const uint8_t b = *p++;
        *value |= (uint32_t)(b & 63) << shift;
        if (!(b & 64)) break;
    }
    return p;
}

enum { LOCATION_ONE_LINE = 10, LOCATION_NO_COLUMNS = 13, LOCATION_LONG = 14, LOCATION_NONE = 15 };

/* The lines that an entry moves on by. */
static int32_t line_delta(unsigned code, const uint8_t *p, const uint8_t *end)
{
    uint32_t v;
    if (code < LOCATION_ONE_LINE || code == LOCATION_NONE) return 0;
    if (code < LOCATION_NO_COLUMNS) return (int32_t)code - LOCATION_ONE_LINE;
    varint(p, end, &v);
    return v & 1 ? -(int32_t)(v >> 1) : (int32_t)(v >> 1);
}

/* The next entry: only a head byte has bit 7. */
static const uint8_t *next_entry(const uint8_t *p, const uint8_t *end)
{
    while (p < end && !(*p & 0x80)) p++;
    return p;
}

static uint64_t line_of(const void *code, uint64_t instruction)
{
    const void *table = pointer(code, CODE_LINES);
    const uint8_t *p = (const uint8_t *)table + BYTES_DATA, *end = p + (size_t)pointer(table, BYTES_SIZE);
    int32_t line = number(code, layout->code_line);
    for (uint64_t at = 0; p < end; p = next_entry(p, end)) {
        const uint8_t head = *p++;
        line += line_delta(head >> 3 & 15, p, end);
        at += (head & 7u) + 1;
        if (at > instruction) return line > 0 ? (uint64_t)line : 0;
    }
    return 0;
}

/* ---- frames and stacks */

static uint64_t frames_seen[FRAMES], stacks_seen[STACKS];

struct place { const void *code; uint64_t instruction; };       /* counted in code units of two bytes */

static uint64_t frame_id(const struct place *f)
{
    const uint64_t words[] = { (uintptr_t)f->code, f->instruction, (uintptr_t)pointer(f->code, CODE_QUALNAME),
                               (uintptr_t)pointer(f->code, CODE_LINES) };
    return mp_seen_id(words, sizeof words / sizeof *words);
}

static void record_frame(uint64_t id, const struct place *f)
{
    struct text t = { .bytes = sizeof(uint64_t) };
    const uint64_t line = line_of(f->code, f->instruction);
    memcpy(t.at, &line, sizeof line);
    add_string(&t, pointer(f->code, CODE_QUALNAME));
    add_string(&t, pointer(f->code, CODE_FILE));
    mp_record_data(MPF_OP_FRAME, MPF_HEAP_NONE, id, t.at, t.bytes);
    mp_seen_add(frames_seen, FRAMES, id);
}

static const void *innermost(const void *state)
{
    const void *frame = pointer(state, layout->state_frame);
    return layout->cframe && frame ? pointer(frame, layout->cframe_frame) : frame;
}

static bool is_python(const void *frame)
{
    return !layout->no_owner || *((const uint8_t *)frame + layout->frame_owner) != layout->no_owner;
}

static unsigned walk(struct place *out)
{
    const void *state = thread_state();
    unsigned n = 0;
    for (const void *f = state ? innermost(state) : NULL; f && n < DEPTH; f = pointer(f, layout->frame_previous)) {
        const void *code = pointer(f, layout->frame_code);
        if (!is_python(f) || !code || pointer(code, OBJECT_TYPE) != code_type) continue;
        const uintptr_t at = (uintptr_t)pointer(f, layout->frame_instr), start = (uintptr_t)code + layout->code_start;
        out[n++] = (struct place){ code, at >= start ? (at - start) / 2 : 0 };
    }
    return n;
}

void mp_python_at(void)
{
    struct place f[DEPTH];
    uint64_t id[DEPTH];
    if (!layout) return;
    const unsigned n = walk(f);
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

/* A build without the interpreter's lock has other layouts; _PyRuntime begins with a description of them from 3.13 on. */
static bool free_threaded(unsigned version)
{
    const char *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    return version >= 0x30d && (!runtime || memcmp(runtime, "xdebugpy", 8) != 0 || pointer(runtime, 16) != NULL);
}

static const struct layout *find_layout(unsigned version)
{
    if (free_threaded(version)) return NULL;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].version == version) return &layouts[i];
    return NULL;
}

void mp_python_start(void)
{
    static uint32_t started;
    if (__atomic_load_n(&started, __ATOMIC_RELAXED) || !mp_config.python || __atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL)) return;
    thread_state = (__typeof__(thread_state))dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
    if (!thread_state || !code_type) return;
    const unsigned long *hex = dlsym(RTLD_DEFAULT, "Py_Version");       /* from 3.11 on */
    layout = hex ? find_layout((unsigned)(*hex >> 16)) : NULL;
    if (!layout) mp_say("Python frames are not recorded: this memprof knows those of CPython 3.11 to 3.13 (MEMPROF_PYTHON=off)", NULL, NULL, NULL);
}
