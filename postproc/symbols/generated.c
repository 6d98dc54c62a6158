/* Functions are sorted by address.  Each has the largest end address up to it, so that a search for
 * the functions at an address ends early. */
#include "generated.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "bisect.h"
#include "perf_map.h"
#include "store.h"

enum {
    FUNCTIONS_MAX = 1 << 21, /* lines of 32 bytes in a map of the largest size */
    SEARCHED_MAX = 4096
};

struct function {
    uint64_t from, to;
    uint64_t reach; /* the largest `to` up to here */
    const char *name;
    uint32_t line;
};

struct mpr_generated {
    char *text;
    struct function *function;
    uint32_t functions, cap;
};

void mpr_generated_free(struct mpr_generated *g)
{
    if (!g) return;
    free(g->function);
    free(g->text);
    free(g);
}

/* ---- the map */

/* Reads a line "1a2b 30 name".  Returns false for any other line. */
static bool read_line(char *line, struct function *f)
{
    char *at = line, *end;
    f->from = strtoull(at, &end, 16);
    if (end == at || *end != ' ') return false;
    const uint64_t bytes = strtoull(at = end + 1, &end, 16);
    if (end == at || *end != ' ' || !end[1] || bytes > UINT64_MAX - f->from) return false;
    f->to = f->from + bytes;
    f->name = end + 1;
    return true;
}

/* The last line may be cut, if the program was killed. */
static bool read_lines(struct mpr_generated *g)
{
    uint32_t number = 0;
    for (char *line = g->text, *end; (end = strchr(line, '\n')); line = end + 1) {
        struct function f = { .line = number++ };
        *end = 0;
        if (!read_line(line, &f)) continue;
        if (g->functions == FUNCTIONS_MAX) return false;
        MPR_GROW(g->function, g->functions, g->cap);
        g->function[g->functions++] = f;
    }
    return g->functions > 0;
}

MPR_COMPARE(by_address, struct function,
            mpr_compare(a->from, b->from) ?: mpr_compare(a->line, b->line))

struct mpr_generated *mpr_generated_open(const char *log, enum mpr_symbols_stored_state *found)
{
    size_t bytes;
    char *text = mpr_store_read_file(log, MPR_PERF_MAP_ENDING, MPR_PERF_MAP_MAX, &bytes, found);
    if (!text) return NULL;
    struct mpr_generated *g = mpr_alloc(1, sizeof *g);
    g->text = text;
    if (!read_lines(g)) {
        mpr_generated_free(g);
        return NULL;
    }
    uint64_t reach = 0;
    qsort(g->function, g->functions, sizeof *g->function, by_address);
    for (uint32_t i = 0; i < g->functions; i++) {
        if (g->function[i].to > reach) reach = g->function[i].to;
        g->function[i].reach = reach;
    }
    *found = MPR_SYMBOLS_FILE_GOOD;
    return g;
}

/* ---- an address */

char *mpr_generated_name(const struct mpr_generated *g, uint64_t address)
{
    const struct function *last = NULL;
    unsigned others = 0, searched = 0;
    /* those that begin at or below the address */
    for (size_t i = MPR_COUNT_FIRST(k, g->functions, g->function[k].from <= address);
         i-- > 0 && g->function[i].reach > address && searched++ < SEARCHED_MAX;) {
        const struct function *f = &g->function[i];
        if (address >= f->to) continue;
        others += last && strcmp(last->name, f->name) != 0;
        if (!last || f->line > last->line) last = f;
    }
    if (!last) return NULL;
    if (!others) return mpr_text_copy(last->name);
    return mpr_text_format("%s, or %u other%s", last->name, others, others > 1 ? "s" : "");
}
