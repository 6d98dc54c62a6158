/* Looks up calls at the addresses of an arbitrary object file at a path that a log names. */
#include <string.h>

#include "debug.h"
#include "fuzz.h"

enum { FROM = 0x10000, CODE = 0x1100, STEP = 8 }; /* all code of the seeds is in this range */

static void look(void *arg, const char *function, const char *file, unsigned line)
{
    size_t *bytes = arg;
    *bytes += strlen(function) + (file ? strlen(file) : 0) + line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum mpr_symbols_state state;
    size_t bytes = 0;
    const struct mpr_binary object = { .path = fuzz_file("object", data, size), .from = FROM };
    struct mpr_debug *d = mpr_debug_open(&object, &state);
    FUZZ_HOLDS(!d == (state == MPR_SYMBOLS_MISSING || state == MPR_SYMBOLS_OTHER ||
                      state == MPR_SYMBOLS_UNREADABLE));
    for (uint64_t pc = FROM; d && pc < FROM + CODE; pc += STEP) mpr_debug_look(d, pc, look, &bytes);
    mpr_debug_close(d);
    return 0;
}
