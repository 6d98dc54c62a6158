#include "range_turns.h"

#include <stdlib.h>

#include "alloc.h"
#include "follow.h"
#include "labels.h"
#include "mpf/event.h"
#include "named_ranges.h"
#include "reader.h"

struct turn_name {
    const char *domain, *name;
};

struct reading {
    struct mpr_reader reader;
    const struct mpr_range_turns_options *options;
    struct mpr_open_ranges open;
    struct mpr_named_ranges named; /* to recognize steps */
    struct mpr_index step_of;      /* by the push of an open step: its number */
    uint32_t step;                 /* the newest one's number */
    struct mpr_arena arena;
    struct turn_name *name; /* by node */
    uint32_t names;
    bool begun, closed; /* from_ns has come; until_ns has passed */
};

static void report(struct reading *r, const struct mpr_open_instance *i, bool begins, uint64_t time)
{
    const struct mpr_ranges *ranges = &r->reader.replay.ranges;
    MPR_REACH(r->name, i->node, r->names);
    struct turn_name *n = &r->name[i->node];
    if (!n->name) {
        const struct mpr_node *node = &ranges->node[i->node];
        n->name = mpr_label_name(&r->arena, &r->reader.replay, node->name, 0);
        n->domain = mpr_arena_text(&r->arena, mpr_ranges_domain(ranges, node->domain));
    }
    const struct mpr_range_turn turn = { .begins = begins,
                                         .time_ns = time,
                                         .thread = i->thread,
                                         .domain = n->domain,
                                         .name = n->name,
                                         .step = mpr_index_get(&r->step_of, i->push) };
    r->options->tell(r->options->arg, &turn);
}

static void on_push(struct reading *r, const struct mpr_thread *t)
{
    if (t->depth_overflow) return;
    const struct mpr_open_instance *i = &r->open.at[r->open.newest[t->number] - 1];
    /* only the outermost instance of the step counts */
    if (r->options->step && !r->step_of.count &&
        mpr_named_ranges_which(&r->named, &r->reader.replay, i->node) == 1)
        mpr_index_set(&r->step_of, i->push, ++r->step);
    if (r->begun) report(r, i, true, i->from);
}

static void on_pop(void *arg, const struct mpr_open_instance *i, uint64_t to, bool ended)
{
    struct reading *r = arg;
    (void)ended;
    if (r->begun && !r->closed)
        report(r, i, false, to < r->options->until_ns ? to : r->options->until_ns);
    if (mpr_index_get(&r->step_of, i->push)) mpr_index_set(&r->step_of, i->push, 0);
}

/* Pushes the ranges that are open when the span begins. */
static void begin(struct reading *r)
{
    const struct mpr_open_ranges *open = &r->open;
    r->begun = true;
    for (uint32_t i = 0; i < open->threads; i++) {
        uint32_t place = open->newest[i];
        while (place && open->at[place - 1].older) place = open->at[place - 1].older;
        for (; place; place = open->at[place - 1].newer)
            report(r, &open->at[place - 1], true, r->options->from_ns);
    }
}

static void close_all(struct reading *r)
{
    if (r->closed) return;
    mpr_open_ranges_end(&r->open, &r->reader.replay);
    r->closed = true;
}

static void see(void *arg, const struct mpr_replay *replay, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    struct reading *r = arg;
    if (r->closed) return;
    if (!r->begun && e->time >= r->options->from_ns) begin(r);
    if (e->time > r->options->until_ns) {
        close_all(r);
        return;
    }
    mpr_open_ranges_see(&r->open, replay, t, e);
    if (e->op == MPF_OP_PUSH) on_push(r, t);
}

int mpr_range_turns_read(const char *path, const struct mpr_range_turns_options *options,
                         const struct mpr_progress *progress, struct mpr_error *error)
{
    struct reading r = { .options = options, .open = { .ends = on_pop, .arg = &r } };
    if (mpr_reader_open(&r.reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    r.reader.replay.options.without_malloc = true;
    mpr_watch_begin(&r.reader.replay, (struct mpr_watch){ see, &r });
    if (options->step) mpr_named_ranges_begin(&r.named, options->step, NULL);
    const int status = mpr_reader_replay(&r.reader, path, progress, error);
    if (status == 0) {
        close_all(&r);
        mpr_reader_close(&r.reader);
    }
    mpr_open_ranges_free(&r.open);
    if (options->step) mpr_named_ranges_free(&r.named);
    mpr_index_free(&r.step_of);
    mpr_arena_free(&r.arena);
    free(r.name);
    return status;
}
