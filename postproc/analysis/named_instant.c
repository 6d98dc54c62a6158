#include "named_instant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "labels.h"
#include "reader.h"

struct wanted {
    const char *text;
    size_t name_bytes;
    uint64_t instance; /* from 1 */
    bool end;
};

static bool parse(const char *text, struct wanted *w)
{
    const char *colon = strrchr(text, ':');
    char *end;
    if (!colon || colon == text || colon[1] < '0' || colon[1] > '9') return false;
    *w = (struct wanted){ text, (size_t)(colon - text), strtoull(colon + 1, &end, 10),
                          strcmp(end, ".end") == 0 };
    return w->instance && (!*end || w->end);
}

bool mpr_named_instant_parse(const char *text)
{
    struct wanted w;
    return strcmp(text, "peak") == 0 || parse(text, &w);
}

/* ---- instances of ranges */

struct search {
    const struct mpr_reader *reader;
    struct wanted wanted;
    struct mpr_arena arena;
    uint8_t *match; /* by node: 0 not compared yet, 1 the range, 2 another one */
    uint32_t nodes;
    uint64_t seen;
    uint32_t thread, depth; /* of the instance that was found */
    bool found, ended;
    uint64_t begin_ns, end_ns;
};

static bool same(const struct wanted *w, const char *text)
{
    return strlen(text) == w->name_bytes && memcmp(text, w->text, w->name_bytes) == 0;
}

/* By its own name, or by the whole path. */
static bool compare(struct search *s, uint32_t node)
{
    const struct mpr_cell cell = { .key = node };
    size_t depth;
    const char *const *path = mpr_label_path(&s->arena, s->reader, &cell, &depth);
    if (!depth) return false;
    const char *whole = path[0];
    for (size_t i = 1; i < depth; i++)
        whole = mpr_arena_format(&s->arena, "%s > %s", whole, path[i]);
    return same(&s->wanted, path[depth - 1]) || same(&s->wanted, whole);
}

static bool matches(struct search *s, uint32_t node)
{
    MPR_REACH(s->match, node, s->nodes);
    if (!s->match[node]) s->match[node] = compare(s, node) ? 1 : 2;
    return s->match[node] == 1;
}

static void see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    (void)r;
    struct search *s = arg;
    if (e->op == MPF_OP_PUSH && !s->found && matches(s, t->node) &&
        ++s->seen == s->wanted.instance) {
        s->found = true;
        s->thread = t->number;
        s->depth = t->depth;
        s->begin_ns = e->time;
    } else if (e->op == MPF_OP_POP && s->found && !s->ended && t->number == s->thread &&
               t->depth < s->depth) {
        s->ended = true;
        s->end_ns = e->time;
    }
}

static int result(const struct search *s, const char *path, uint64_t last, struct mpr_instant *at,
                  struct mpr_error *error)
{
    if (!s->found)
        return mpr_fail(error, "%s: no instance %" PRIu64 " of a range %.*s: %" PRIu64 " found",
                        path, s->wanted.instance, (int)s->wanted.name_bytes, s->wanted.text,
                        s->seen);
    *at = MPR_INSTANT_END_OF(!s->wanted.end ? s->begin_ns : s->ended ? s->end_ns : last);
    return 0;
}

/* ---- peaks */

static uint64_t peak_time(const struct mpr_replay *r, const char *heap)
{
    const struct mpr_heap *found = NULL;
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *h = &r->books.heap[i];
        const char *name = mpf_heap_name(i);
        if (!h->used || (heap && (!name || strcmp(name, heap) != 0))) continue;
        if (!found || h->peak_bytes > found->peak_bytes) found = h;
    }
    return found ? found->peak_time : 0;
}

int mpr_named_instant_find(const char *path, const char *text, const char *heap,
                           const struct mpr_progress *progress, struct mpr_instant *at,
                           struct mpr_error *error)
{
    struct mpr_reader reader;
    struct search s = { .reader = &reader };
    const bool range = parse(text, &s.wanted);
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    if (range) reader.replay.watch = (struct mpr_watch){ see, &s };
    int status = mpr_reader_replay(&reader, path, progress, error);
    if (status == 0) {
        *at = MPR_INSTANT_AT(peak_time(&reader.replay, heap));
        if (range) status = result(&s, path, reader.replay.now, at, error);
        mpr_reader_close(&reader);
    }
    free(s.match);
    mpr_arena_free(&s.arena);
    return status;
}
