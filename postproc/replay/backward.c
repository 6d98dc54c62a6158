#include "backward.h"

#include "alloc.h"
#include "alloc_context.h"
#include "bisect.h"

static struct mpr_forward_mark *mark_at(struct mpr_forward *f, uint64_t index)
{
    return &f->mark[index % MPR_FORWARD_MARKS];
}

/* Returns the mark of the next node, which is made if it is new. */
static struct mpr_forward_mark *next_mark(struct mpr_forward *f)
{
    if (f->end == f->first || mark_at(f, f->end - 1)->number != f->next) {
        *mark_at(f, f->end++) = (struct mpr_forward_mark){ .number = f->next };
        if (f->end - f->first > MPR_FORWARD_MARKS) f->first = f->end - MPR_FORWARD_MARKS;
    }
    return mark_at(f, f->end - 1);
}

void mpr_forward_range(struct mpr_replay *r, struct mpr_thread *t)
{
    const uint32_t backward = mpr_backward_path(r, t);
    next_mark(t->forward)->node = backward ? backward : mpr_thread_inherited_path(r, t, NULL);
}

void mpr_forward_next(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    if (!t->forward) t->forward = mpr_alloc(1, sizeof *t->forward);
    mpr_index_set(&r->threads.forward_of, e->size, t->number + 1);
    t->forward->next = e->addr;
    mpr_forward_range(r, t);
}

void mpr_forward_block(struct mpr_thread *t)
{
    struct mpr_forward_mark *mark = next_mark(t->forward);
    if (!mark->python) mark->python = t->at.python;
}

/* Returns the last mark with at most this number, or NULL. */
static const struct mpr_forward_mark *find(struct mpr_forward *f, uint64_t number)
{
    const size_t marks =
        MPR_COUNT_FIRST(i, f->end - f->first, mark_at(f, f->first + i)->number <= number);
    return marks ? mark_at(f, f->first + marks - 1) : NULL;
}

/* ---- paths */

bool mpr_backward_is(const struct mpr_ranges *ranges, uint32_t node)
{
    while (node && ranges->node[node].parent) node = ranges->node[node].parent;
    return node && ranges->node[node].name == MPR_BACKWARD_NAME;
}

/* Returns the part of a path below "backward of".  A forward pass that is repeated in a backward
 * pass (checkpointing) is on such a path already. */
static uint32_t path_below_backward(struct mpr_ranges *ranges, uint32_t node)
{
    uint32_t name[MPR_PATH_MAX], domain[MPR_PATH_MAX], depth = 0;
    if (mpr_backward_is(ranges, node)) return node;
    for (; node && depth < MPR_PATH_MAX; node = ranges->node[node].parent, depth++) {
        name[depth] = ranges->node[node].name;
        domain[depth] = ranges->node[node].domain;
    }
    uint32_t path = mpr_ranges_child(ranges, 0, MPR_BACKWARD_NAME, 0);
    while (depth-- > 0) path = mpr_ranges_child(ranges, path, name[depth], domain[depth]);
    return path;
}

void mpr_backward_node(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const bool runs = t->depth && !t->depth_overflow;
    const uint32_t maker = runs ? mpr_index_get(&r->threads.forward_of, e->size) : 0;
    struct mpr_forward *f = maker ? r->threads.at[maker - 1]->forward : NULL;
    const struct mpr_forward_mark *made = f ? find(f, e->addr) : NULL,
                                  *block = f ? find(f, e->addr + 1) : NULL;
    const uint32_t python = block && block->number == e->addr + 1 ? block->python : 0;
    const uint32_t forward = made && made->node ? made->node : python;
    if (!forward) return;
    struct mpr_open_range *range = &t->stack[t->depth - 1];
    range->forward = mpr_ranges_child(&r->ranges, path_below_backward(&r->ranges, forward),
                                      range->name, range->domain);
    if (python) range->python = path_below_backward(&r->ranges, python);
    if (t->forward) mpr_forward_range(r, t); /* for nodes that this thread makes */
}

uint32_t mpr_backward_path(struct mpr_replay *r, const struct mpr_thread *t)
{
    uint32_t i = mpr_backward_is_known(r) ? t->depth : 0;
    while (i && !t->stack[i - 1].forward) i--;
    if (!i) return 0;
    uint32_t path = t->stack[i - 1].forward;
    for (; i < t->depth; i++)
        path = mpr_ranges_child(&r->ranges, path, t->stack[i].name, t->stack[i].domain);
    return path;
}

uint32_t mpr_backward_python(const struct mpr_replay *r, const struct mpr_thread *t)
{
    for (uint32_t i = mpr_backward_is_known(r) ? t->depth : 0; i-- > 0;)
        if (t->stack[i].python) return t->stack[i].python;
    return 0;
}
