#include "named_instant.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "labels.h"
#include "named_ranges.h"
#include "reader.h"

struct wanted {
    const char *text;
    size_t name_bytes, literal_bytes; /* "step" and "step:12" of "step:12.end" */
    uint64_t instance;                /* from 1 */
    bool end;
};

static bool parse(const char *text, struct wanted *w)
{
    const char *colon = strrchr(text, ':');
    char *end;
    if (!colon || colon == text || colon[1] < '0' || colon[1] > '9') return false;
    *w = (struct wanted){ .text = text, .name_bytes = (size_t)(colon - text) };
    w->instance = strtoull(colon + 1, &end, 10);
    w->literal_bytes = (size_t)(end - text);
    w->end = strcmp(end, ".end") == 0;
    return w->instance && (!*end || w->end);
}

bool mpr_named_instant_parse(const char *text)
{
    struct wanted w;
    return strcmp(text, "peak") == 0 || strcmp(text, "end") == 0 || parse(text, &w);
}

/* ---- instances of ranges */

enum { LITERAL = 1 }; /* of the two names the first one */

struct search {
    struct mpr_named_ranges named; /* "step:12", or else "step" */
    struct mpr_follow follow;
    struct wanted wanted;
    char *name, *literal;
    uint64_t seen;
    uint64_t push; /* of the instance that was found; 0: none was */
    uint64_t begin_ns, end_ns;
    bool found_literal, followed; /* followed: and its end is seen */
};

static uint32_t what(void *arg, const struct mpr_replay *r, uint32_t node)
{
    struct search *s = arg;
    return mpr_named_ranges_which(&s->named, r, node);
}

/* A range that the program itself calls "step:12" is meant before the twelfth one is. */
static void begins(void *arg, const struct mpr_replay *r, struct mpr_followed *f)
{
    struct search *s = arg;
    const bool literal = f->what == LITERAL;
    (void)r;
    f->number = ++s->seen;
    if (s->found_literal || (!literal && f->number != s->wanted.instance)) return;
    s->found_literal = literal;
    s->push = f->push;
    s->followed = !mpr_follow_is_full(&s->follow);
    s->begin_ns = f->begin_ns;
}

static void ends(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended)
{
    struct search *s = arg;
    (void)ended;
    if (f->push == s->push) s->end_ns = r->now;
}

static int result(const struct search *s, const char *path, struct mpr_instant *at,
                  struct mpr_error *error)
{
    if (!s->push)
        return mpr_fail(error, "%s: no instance %" PRIu64 " of a range %s: %" PRIu64 " found", path,
                        s->wanted.instance, s->name, s->seen);
    if (s->wanted.end && !s->followed)
        return mpr_fail(error, "%s: the end of %s is not known: %d others were open when it began",
                        path, s->literal, MPR_FOLLOW_MAX);
    *at = MPR_INSTANT_END_OF(s->wanted.end ? s->end_ns : s->begin_ns);
    return 0;
}

static int find_instance(struct mpr_reader *reader, const char *path, const struct wanted *wanted,
                         const struct mpr_progress *progress, struct mpr_instant *at,
                         struct mpr_error *error)
{
    struct search s = { .wanted = *wanted };
    s.name = mpr_text_part(wanted->text, wanted->name_bytes);
    s.literal = mpr_text_part(wanted->text, wanted->literal_bytes);
    mpr_named_ranges_begin(&s.named, s.literal, s.name);
    s.follow = (struct mpr_follow){ .what = what, .begins = begins, .ends = ends, .arg = &s };
    reader->replay.watch = (struct mpr_watch){ mpr_follow_see, &s.follow };
    int status = mpr_reader_replay(reader, path, progress, error);
    if (status == 0) {
        mpr_follow_end(&s.follow, &reader->replay);
        status = result(&s, path, at, error);
        mpr_reader_close(reader);
    }
    mpr_named_ranges_free(&s.named);
    free(s.name);
    free(s.literal);
    return status;
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
    struct wanted wanted;
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    if (parse(text, &wanted)) return find_instance(&reader, path, &wanted, progress, at, error);
    if (mpr_reader_replay(&reader, path, progress, error) != 0) return -1;
    *at = strcmp(text, "end") == 0 ? MPR_INSTANT_END_OF(reader.replay.now)
                                   : MPR_INSTANT_AT(peak_time(&reader.replay, heap));
    mpr_reader_close(&reader);
    return 0;
}
