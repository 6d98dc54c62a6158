#include "python/python_layout.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* Taken from the headers of each version with offsetof, in the order of the members. */
static_assert(offsetof(struct mp_python_layout, frame_owner) == 9 &&
                  offsetof(struct mp_python_layout, frame_locals) == 10 &&
                  offsetof(struct mp_python_layout, values_head) == 22,
              "a member more is a column more");
// clang-format off
static const struct mp_python_layout table[] = {
    { 0x309, MP_PYTHON_PAIRS,     24, false, 0, 32, 24, 104, 0,  360, 0,   40, 120, 112, 104, 16, 72, 48, 72, 24, 0 },
    { 0x30a, MP_PYTHON_RANGES,    24, false, 0, 32, 24, 96,  0,  352, 0,   40, 120, 112, 104, 16, 72, 48, 72, 24, 0 },
    { 0x30b, MP_PYTHON_LOCATIONS, 56, true,  8, 32, 48, 56,  69, 72,  184, 72, 136, 128, 112, 56, 96, 48, 72, 24, 0 },
    { 0x30c, MP_PYTHON_LOCATIONS, 56, true,  0, 0,  8,  56,  70, 72,  192, 68, 136, 128, 112, 52, 96, 40, 56, 24, 0 },
};
// clang-format on

/* ---- _Py_DebugOffsets: u64s in groups, each of which begins with the size of the described
 * struct */

enum { COOKIE, VERSION, FREE_THREADED };
struct groups {
    unsigned version;
    uint8_t thread, frame, code, object, tuple, bytes, text;
};
static_assert(offsetof(struct groups, text) == sizeof(unsigned) + 6,
              "a member more is a column more");
static const struct groups groups[] = {
    { 0x30d, 19, 28, 34, 44, 50, 64, 67 },
    { 0x30e, 22, 31, 39, 50, 56, 74, 77 },
};
/* places in a group */
enum { THREAD_FRAME = 4 };
enum { FRAME_PREVIOUS = 1, FRAME_CODE, FRAME_INSTR, FRAME_LOCALS, FRAME_OWNER };
enum {
    CODE_FILE = 1,
    CODE_NAME,
    CODE_QUALNAME,
    CODE_LINES,
    CODE_FIRST_LINE,
    CODE_ARGUMENTS,
    CODE_LOCALS,
    CODE_START = 9
};
enum {
    OBJECT_TYPE = 1,
    TUPLE_ITEMS = 1,
    TUPLE_SIZE,
    BYTES_SIZE = 1,
    BYTES_DATA,
    TEXT_STATE = 1,
    TEXT_LENGTH,
    TEXT_ASCII
};

/* Returns a value of a group as an offset, or 0 if it cannot be one: outside, or not aligned. */
static uint8_t offset(const uint64_t *group, unsigned place, unsigned bytes)
{
    const uint64_t at = group[place];
    return at <= UINT8_MAX && at % bytes == 0 && at + bytes <= group[0] ? (uint8_t)at : 0;
}

static bool describes(const uint64_t *runtime, const struct groups *g)
{
    return memcmp(&runtime[COOKIE], "xdebugpy", 8) == 0 && runtime[VERSION] >> 16 == g->version &&
           !runtime[FREE_THREADED] && runtime[g->object] == 16 &&
           runtime[g->object + OBJECT_TYPE] == MP_PYTHON_TYPE &&
           runtime[g->tuple + TUPLE_SIZE] == MP_PYTHON_SIZE &&
           runtime[g->bytes + BYTES_SIZE] == MP_PYTHON_SIZE &&
           runtime[g->bytes + BYTES_DATA] == MP_PYTHON_BYTES &&
           runtime[g->text + TEXT_STATE] == MP_PYTHON_TEXT_STATE &&
           runtime[g->text + TEXT_LENGTH] == MP_PYTHON_SIZE && runtime[g->text + TEXT_ASCII] == 40;
}

/* In both versions f_executable is the first member of a frame, and compact strings have two words
 * more than ASCII ones. */
static bool from_runtime(const uint64_t *runtime, const struct groups *g,
                         struct mp_python_layout *out)
{
    const uint64_t *thread = runtime + g->thread, *frame = runtime + g->frame,
                   *code = runtime + g->code, *tuple = runtime + g->tuple;
    *out = (struct mp_python_layout){
        .version = (uint16_t)g->version,
        .lines = MP_PYTHON_LOCATIONS,
        .state_frame = offset(thread, THREAD_FRAME, 8),
        .frame_previous = offset(frame, FRAME_PREVIOUS, 8),
        .frame_instr = offset(frame, FRAME_INSTR, 8),
        .frame_owner = offset(frame, FRAME_OWNER, 1),
        .frame_locals = offset(frame, FRAME_LOCALS, 8),
        .code_start = offset(code, CODE_START, 8),
        .code_first_line = offset(code, CODE_FIRST_LINE, 4),
        .code_lines = offset(code, CODE_LINES, 8),
        .code_name = offset(code, CODE_QUALNAME, 8),
        .code_file = offset(code, CODE_FILE, 8),
        .code_arguments = offset(code, CODE_ARGUMENTS, 4),
        .code_locals = offset(code, CODE_LOCALS, 8),
        .ascii = 40,
        .compact = 56,
        .items = offset(tuple, TUPLE_ITEMS, 8),
        .values_head = 8,
    };
    return out->state_frame && out->frame_previous && out->frame_instr && out->frame_owner &&
           out->frame_locals && out->code_start && out->code_first_line && out->code_lines &&
           out->code_name && out->code_file && out->code_arguments && out->code_locals &&
           out->items && frame[FRAME_CODE] == 0;
}

bool mp_python_layout(unsigned version, const uint64_t *runtime, struct mp_python_layout *out)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].version != version) continue;
        *out = table[i];
        return true;
    }
    for (size_t i = 0; runtime && i < sizeof groups / sizeof *groups; i++)
        if (groups[i].version == version)
            return describes(runtime, &groups[i]) && from_runtime(runtime, &groups[i], out);
    return false;
}
