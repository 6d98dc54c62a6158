#include "gpu_book.h"

#include "backward.h"
#include "gpu.h"
#include "gpu_path.h"
#include "lives.h"
#include "maker.h"

static struct mpr_maker maker_of(const struct mpr_gpu_block *b)
{
    return (struct mpr_maker){ b->size, b->node, b->thread, b->site, b->comm, b->capture };
}

uint64_t mpr_gpu_key(const struct mpr_replay *r, const struct mpr_gpu_block *b)
{
    const struct mpr_maker maker = maker_of(b);
    return mpr_maker_key(r, &maker);
}

uint32_t mpr_gpu_cell(struct mpr_replay *r, const struct mpr_gpu_block *b)
{
    const struct mpr_maker maker = maker_of(b);
    return mpr_maker_cell(r, &maker, b->heap);
}

void mpr_gpu_books_add(struct mpr_replay *r, struct mpr_gpu_block *b)
{
    b->cell = mpr_gpu_cell(r, b);
    if (b->weighed) mpr_estimates_add(&r->estimates, &r->books, b->cell, b->size);
    mpr_books_add(&r->books, b->cell, b->size, r->now);
    mpr_lives_counted(r, b->heap, b->birth, b->size, b->cell);
    if (b->inherited) r->books.cell[b->cell].inherited += b->size;
}

void mpr_gpu_seen(struct mpr_replay *r, const struct mpr_gpu_block *b, uint64_t from)
{
    const struct mpr_large_block block = { .addr = b->addr,
                                           .size = b->size,
                                           .from = from,
                                           .to = UINT64_MAX,
                                           .cell = b->cell,
                                           .capture = b->capture,
                                           .segment = b->segment,
                                           .mapped = b->handle };
    mpr_lives_born(r, b->heap, &block);
}

void mpr_gpu_unseen(struct mpr_replay *r, const struct mpr_gpu_block *b)
{
    mpr_lives_gone(r, mpr_block_key(b->addr, b->heap), b->size);
}

void mpr_gpu_books_remove(struct mpr_replay *r, const struct mpr_gpu_block *b)
{
    if (b->addr) mpr_gpu_unseen(r, b);
    if (b->weighed) mpr_estimates_remove(&r->estimates, &r->books, b->cell, b->size);
    mpr_books_remove(&r->books, b->cell, b->size);
    mpr_lives_uncounted(r, b->heap, b->birth);
    if (b->inherited) r->books.cell[b->cell].inherited -= b->size;
}

struct mpr_gpu_block mpr_gpu_describe(struct mpr_replay *r, struct mpr_thread *t,
                                      const struct mpf_event *e)
{
    struct mpr_gpu_block b = { .addr = e->addr,
                               .size = e->size,
                               .time = e->time,
                               .birth = ++r->gpu.births,
                               .context = t->gpu.context,
                               .thread = t->number,
                               .heap = e->heap,
                               .capture = mpr_graph_under_way(t) };
    const struct mpr_site at = { t->at.stack,
                                 t->at.python ? t->at.python : mpr_backward_python(r, t) };
    b.node = mpr_backward_path(r, t);
    if (!b.node) b.node = mpr_gpu_path(r, t, &b.inherited);
    b.node = mpr_maker_path(r, b.node, t->at.python);
    b.site = mpr_sites_site(&r->sites, at);
    b.library = mpr_sites_library(&r->sites, at.stack);
    b.python = at.python;
    b.segment = mpr_sites_for_torch(&r->sites, at.stack);
    b.weighed = r->options.by == MPR_GROUP_PYTHON && r->options.torch_sample_mean != 0 &&
                t->at.python && mpr_gpu_of_torch(e);
    if (!strncmp(mpr_sites_library_name(&r->sites, b.library), "libnccl", 7)) {
        b.comm_guessed = !t->gpu.comm;
        b.comm = t->gpu.comm ? t->gpu.comm : r->gpu.comm;
    }
    return b;
}

void mpr_gpu_book(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                  struct mpr_gpu_block *out)
{
    *out = mpr_gpu_describe(r, t, e);
    mpr_gpu_books_add(r, out);
    r->books.heap[e->heap].allocations++;
    r->books.cell[out->cell].allocations++;
}
