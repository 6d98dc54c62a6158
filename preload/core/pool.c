#include "core/pool.h"

#include "core/journal.h"
#include "core/state.h"
#include "mpf/event.h"

#define EXTEND_NS UINT64_C(1000000000)

/* Returns the reason (enum mpf_loss) why no further place may be used, or 0. The limit leaves the
 * encoder enough chunks for frames of a good size. Chunks of ended threads are released. */
static unsigned forbidden(struct mp_pool *pool)
{
    const uint32_t threads = __atomic_load_n(&mp_process->threads, __ATOMIC_RELAXED);
    if (pool->chunks >= MP_POOL_PLACES) return MPF_LOSS_THREADS;
    if (pool->chunks < MP_POOL_LIMITED) return 0;
    if (pool->chunks == pool->mapped && pool->chunks >= MP_POOL_LIMITED + threads &&
        mp_sys_limited())
        return MPF_LOSS_MEMORY;
    const uint32_t alive = __atomic_load_n(&pool->alive, __ATOMIC_RELAXED);
    return pool->chunks < MP_POOL_RESERVE + alive ? 0 : MPF_LOSS_STALLED;
}

/* Returns a place that was never used. If there is no memory, this is tried once per frame and not
 * for each event. */
static bool grow(struct mp_pool *pool, uint32_t *index)
{
    const uint32_t now = __atomic_load_n(&pool->frames, __ATOMIC_RELAXED) + 1;
    if (__atomic_load_n(&pool->refused, __ATOMIC_RELAXED) == now) return false;
    const uint64_t signals = mp_lock(&pool->grow);
    unsigned why = pool->refused == now ? MPF_LOSS_MEMORY : forbidden(pool);
    if (!why && !((pool->chunks < pool->mapped || mp_worker_run(mp_journal_extend, EXTEND_NS)) &&
                  mp_journal_touch(pool->chunks)))
        why = MPF_LOSS_MEMORY;
    if (why) __atomic_store_n(&pool->why, why, __ATOMIC_RELAXED);
    if (why == MPF_LOSS_MEMORY) __atomic_store_n(&pool->refused, now, __ATOMIC_RELAXED);
    if (!why) {
        *index = pool->chunks;
        __atomic_store_n(&pool->chunks, *index + 1, __ATOMIC_RELEASE);
    }
    mp_unlock(&pool->grow, signals);
    return !why;
}

unsigned mp_pool_why(void)
{
    const unsigned why = __atomic_load_n(&mp_process->pool.why, __ATOMIC_RELAXED);
    return why ? why : MPF_LOSS_STALLED;
}

struct mpf_chunk *mp_pool_take(uint32_t number)
{
    struct mp_pool *pool = &mp_process->pool;
    uint32_t index;
    if (!mp_queue_take(&pool->free, pool->free_cell, MP_POOL_PLACES, &index) && !grow(pool, &index))
        return NULL;
    __atomic_fetch_add(&pool->in_use, 1, __ATOMIC_RELAXED);
    struct mp_chunk_meta *meta = &pool->meta[index];
    const uint8_t tag = meta->tag == 255 ? 1 : meta->tag + 1;
    *meta = (struct mp_chunk_meta){ .tag = tag, .filled = meta->filled };
    struct mpf_chunk *c = mp_pool_chunk(pool, index);
    c->seq = __atomic_add_fetch(&pool->seq, 1, __ATOMIC_RELAXED);
    c->thread = number;
    c->tag = tag;
    c->drained = c->drained_next = 0;
    c->frame = 0;
    __atomic_store_n(&c->state, MPF_CHUNK_USED, __ATOMIC_RELEASE);
    return c;
}

void mp_pool_give(uint32_t index)
{
    struct mp_pool *pool = &mp_process->pool;
    __atomic_store_n(&mp_pool_chunk(pool, index)->state, MPF_CHUNK_FREE, __ATOMIC_RELEASE);
    if (pool->meta[index].retired) __atomic_fetch_add(&pool->spoiled, 1, __ATOMIC_RELAXED);
    else mp_queue_give(&pool->free, pool->free_cell, MP_POOL_PLACES, index);
    __atomic_fetch_sub(&pool->in_use, 1, __ATOMIC_RELAXED);
}

void mp_pool_want(uint32_t seen)
{
    __atomic_fetch_add(&mp_process->pool.waits, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&mp_process->pool.wanted, seen + 1, __ATOMIC_RELEASE);
}

bool mp_pool_wanted(void)
{
    const struct mp_pool *pool = &mp_process->pool;
    return __atomic_load_n(&pool->wanted, __ATOMIC_ACQUIRE) ==
           __atomic_load_n(&pool->released, __ATOMIC_ACQUIRE) + 1;
}

bool mp_pool_wait(uint32_t seen, struct mp_patience *patience)
{
    return mp_wait(patience, &mp_process->pool.released, seen, 100000000u);
}

bool mp_pool_has_frame(uint32_t records)
{
    const struct mp_pool *pool = &mp_process->pool;
    const uint32_t done = records + __atomic_load_n(&pool->on_the_way, __ATOMIC_RELAXED),
                   in_use = __atomic_load_n(&pool->in_use, __ATOMIC_RELAXED);
    return in_use >= done + MP_POOL_RESERVE / 4 || mp_pool_wanted();
}

bool mp_pool_is_short(void)
{
    const struct mp_pool *pool = &mp_process->pool;
    return __atomic_load_n(&pool->in_use, __ATOMIC_RELAXED) >=
               MP_POOL_RESERVE / 2 + __atomic_load_n(&pool->alive, __ATOMIC_RELAXED) ||
           mp_pool_wanted();
}
