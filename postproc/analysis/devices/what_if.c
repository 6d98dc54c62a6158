/* One reading of the log feeds all replays.  `own` has the run's own settings and the recorded
 * addresses, and is compared with the log at each block.  The others differ in what the log does
 * not say (assumptions).
 *
 * PyTorch takes and releases segments before it reports the block or the error that needed them. So
 * entries of segments wait in `pending` and `released` until the next entry of a block. */
#include "what_if.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "caching_allocator.h"
#include "index.h"
#include "known_sizes.h"
#include "torch_trace.h"

/* ---- assumptions */

/* The size of a request, if it may have been smaller than its block.  LIKELY: the only such size
 * that is known from other blocks of the log, or the size of the block. */
enum sizes { LIKELY, LARGEST, SMALLEST, RANDOM_BY_SIZE, RANDOM_BY_SITE };
/* PyTorch prefers the lower of two holes of the same size. */
enum places { ASCENDING, DESCENDING, RANDOM_PLACES };

/* The first one is the most likely. */
static const struct assumption {
    enum sizes sizes;
    enum places places;
} assumptions[] = {
    { LIKELY, ASCENDING },
    { LIKELY, DESCENDING },
    { LARGEST, ASCENDING },
    { LARGEST, DESCENDING },
    { SMALLEST, ASCENDING },
    { SMALLEST, DESCENDING },
    { RANDOM_BY_SIZE, ASCENDING },
    { RANDOM_BY_SIZE, ASCENDING },
    { RANDOM_BY_SIZE, ASCENDING },
    { RANDOM_BY_SITE, ASCENDING },
    { RANDOM_BY_SITE, ASCENDING },
    { RANDOM_BY_SITE, ASCENDING },
    { LIKELY, RANDOM_PLACES },
    { LIKELY, RANDOM_PLACES },
    { RANDOM_BY_SITE, RANDOM_PLACES },
    { RANDOM_BY_SITE, RANDOM_PLACES },
};
enum { REPLAYS = sizeof assumptions / sizeof *assumptions };

/* ---- a replay */

struct replay {
    struct mpr_caching_allocator *allocator;
    const struct assumption *assumption;
    uint64_t segments, random;
    uint64_t peak, peak_time; /* of reserved bytes */
    uint64_t room;            /* the least bytes that the device had left; UINT64_MAX: unknown */
    bool failed;              /* a request that the run was served was not: the replay has ended */
    uint64_t failed_ns, failed_bytes;
    const uint64_t *now;
};

/* Segments are a tebibyte apart, because the address space of an expandable one is larger than the
 * device. */
static uint64_t place_segment(void *arg, uint64_t bytes)
{
    struct replay *p = arg;
    uint64_t number = ++p->segments;
    (void)bytes;
    if (p->assumption->places == DESCENDING) number = (UINT64_C(1) << 23) - number;
    if (p->assumption->places == RANDOM_PLACES)
        number = (mpr_hash_plain(number + p->random) & 0x3ff) << 13 | (number & 0x1fff);
    return number << 40;
}

static void note_peak(void *arg, enum mpr_caching_event event, uint64_t addr, uint64_t bytes)
{
    struct replay *p = arg;
    const uint64_t reserved = mpr_caching_totals(p->allocator)->reserved;
    (void)event, (void)addr, (void)bytes;
    if (reserved <= p->peak) return;
    p->peak = reserved;
    p->peak_time = *p->now;
}

/* The sizes that a request may have had. */
struct sizes_of_request {
    uint64_t site, least, most, likely;
};

/* ---- all replays of a device */

struct segment {
    uint64_t addr, bytes;
};

struct replays {
    struct mpr_what_if_device *out;
    uint64_t now, total;
    struct mpr_caching_allocator *own;
    struct replay replay[REPLAYS];
    /* Live blocks by recorded address: place + 1 of the first of 1 + REPLAYS numbers. */
    struct mpr_index live;
    uint32_t *block;
    uint32_t blocks, block_cap, unused;
    struct mpr_index pool_of; /* by address of a recorded segment: its private pool + 1 */
    struct segment *pending;  /* recorded, and not yet taken by `own` */
    size_t pendings, pending_cap, next;
    bool released;   /* segments, since the newest block */
    bool is_refused; /* the driver refused memory since then, when it had this for PyTorch: */
    uint64_t refused_capacity;
    uint64_t reserved, allocated; /* recorded */
    bool is_snapshot;             /* of PyTorch: its sizes are those of requests */
    bool expandable, plain;       /* segments of that kind occur */
    const struct mpr_what_if_options *options;
    struct mpr_known_sizes *known;
    size_t replays; /* 0 in the first reading, in which only `own` runs */
    size_t oom_cap;
};

static void refuse(struct replays *r, const char *reason)
{
    if (r->out->refused) return;
    if (r->is_snapshot && !r->now) reason = "the snapshot does not have the beginning of the run";
    r->out->refused = reason;
    r->out->refused_ns = r->now;
}

/* `own` needs a segment: the log says where it is.  If it does not, the addresses differ. */
static uint64_t recorded_place(void *arg, uint64_t bytes)
{
    struct replays *r = arg;
    (void)bytes;
    return r->next < r->pendings ? r->pending[r->next].addr : UINT64_C(1) << 62;
}

static void own_changed(void *arg, enum mpr_caching_event event, uint64_t addr, uint64_t bytes)
{
    struct replays *r = arg;
    if (event != MPR_CACHING_TAKES && event != MPR_CACHING_MAPS) return;
    if (r->next < r->pendings && r->pending[r->next].addr == addr &&
        r->pending[r->next].bytes == bytes) {
        r->next++;
        return;
    }
    /* consecutive pieces of an expandable segment are one entry */
    if (r->next < r->pendings && r->pending[r->next].addr == addr &&
        r->pending[r->next].bytes > bytes && event == MPR_CACHING_MAPS) {
        r->pending[r->next].addr += bytes;
        r->pending[r->next].bytes -= bytes;
        return;
    }
    refuse(r, "the allocator takes other segments than the log has");
}

/* ---- the beginning: the kind of the first segment shows whether segments are expandable */

static void start(struct replays *r)
{
    struct mpr_caching_settings own = mpr_caching_settings_default();
    const struct mpr_caching_driver recorded = {
        .place = recorded_place, .changed = own_changed, .arg = r, .total = r->total
    };
    if (r->own) return;
    own.expandable_segments = r->expandable;
    if (r->options->recorded) own = *r->options->recorded;
    r->own = mpr_caching_new(&own, &recorded);
    for (size_t i = 0; i < r->replays; i++) {
        struct replay *p = &r->replay[i];
        const struct mpr_caching_driver driver = {
            .place = place_segment, .changed = note_peak, .arg = p, .total = r->total
        };
        *p = (struct replay){
            .assumption = &assumptions[i], .random = i, .room = UINT64_MAX, .now = &r->now
        };
        p->allocator = mpr_caching_new(&r->options->settings, &driver);
    }
}

/* ---- segments */

static void on_segment(struct replays *r, const struct mpr_torch_entry *e, bool expandable)
{
    if (e->supposed) refuse(r, "the log does not have the segments of all blocks");
    r->expandable |= expandable;
    r->plain |= !expandable;
    if (r->expandable && r->plain)
        refuse(r, "only some of its segments are expandable, so the settings changed");
    r->reserved += e->size;
    if (r->reserved > r->out->recorded.reserved) {
        r->out->recorded.reserved = r->reserved;
        r->out->recorded.time = r->now;
    }
    if (e->pool) mpr_index_set(&r->pool_of, e->addr, e->pool + 1);
    *MPR_ADD(r->pending, r->pendings, r->pending_cap) = (struct segment){ e->addr, e->size };
}

static void on_segment_free(struct replays *r, const struct mpr_torch_entry *e)
{
    const uint32_t pool = mpr_index_get(&r->pool_of, e->addr);
    r->reserved = mpr_saturating_sub(r->reserved, e->size);
    r->released = true;
    if (!pool) return;
    mpr_index_set(&r->pool_of, e->addr, 0);
    start(r);
    mpr_caching_release_pool(r->own, pool - 1);
    for (size_t i = 0; i < r->replays; i++)
        mpr_caching_release_pool(r->replay[i].allocator, pool - 1);
}

/* Segments that were released without a refusal were released by the program. */
static void catch_up(struct replays *r)
{
    start(r);
    if (r->released && !r->is_refused) {
        mpr_caching_empty_cache(r->own);
        for (size_t i = 0; i < r->replays; i++)
            if (!r->replay[i].failed) mpr_caching_empty_cache(r->replay[i].allocator);
    }
    r->released = false;
}

/* ---- blocks */

static uint32_t *numbers(struct replays *r, uint32_t place)
{
    return &r->block[(size_t)place * (1 + REPLAYS)];
}

static uint32_t new_place(struct replays *r)
{
    uint32_t place = r->unused;
    if (place) {
        r->unused = numbers(r, place - 1)[0];
        return place - 1;
    }
    if (r->blocks == r->block_cap) {
        r->block_cap = r->block_cap ? 2 * r->block_cap : 64;
        r->block = mpr_resize(r->block, r->block_cap, (1 + REPLAYS) * sizeof *r->block);
    }
    return r->blocks++;
}

/* Returns the bytes that PyTorch could reserve at the time of the entry. */
static uint64_t capacity(const struct replays *r, const struct mpr_torch_entry *e)
{
    if (r->is_refused) return r->refused_capacity;
    return e->device_free == UINT64_MAX ? UINT64_MAX : r->reserved + e->device_free;
}

static void note_room(struct replay *p, uint64_t most)
{
    const uint64_t reserved = mpr_caching_totals(p->allocator)->reserved,
                   room = mpr_saturating_sub(most, reserved);
    if (most != UINT64_MAX && room < p->room) p->room = room;
}

/* Blocks of one size, or those of one size and call site, are assumed to be for equal requests, as
 * in the steps of a training. */
static uint64_t request_of(const struct replay *p, const struct sizes_of_request *s)
{
    const uint64_t units = (s->most - s->least) / MPR_CACHING_BLOCK,
                   site = p->assumption->sizes == RANDOM_BY_SITE ? s->site : 0;
    switch (p->assumption->sizes) {
    case LIKELY: return s->likely;
    case LARGEST: return s->most;
    case SMALLEST: return s->least;
    default: break;
    }
    const uint64_t unused = (mpr_hash_plain(site << 40 ^ (s->most + p->random)) >> 16) %
                            (MPR_CACHING_SMALL / MPR_CACHING_BLOCK + 1);
    return s->most - (unused < units ? unused : units) * MPR_CACHING_BLOCK;
}

/* PyTorch looks for room in an expandable segment at one hole after the other.  A log that was made
 * to take long has many. */
#define STEPS_MAX (UINT64_C(1) << 30)

static uint32_t serve(struct replay *p, struct mpr_caching_request request,
                      const struct sizes_of_request *sizes, uint64_t most, uint64_t now)
{
    if (p->failed) return 0;
    request.bytes = request_of(p, sizes);
    mpr_caching_set_capacity(p->allocator, most);
    const uint32_t block = mpr_caching_alloc(p->allocator, &request);
    if (!block) {
        p->failed = true;
        p->failed_ns = now;
        p->failed_bytes = request.bytes;
    } else note_room(p, most);
    return block;
}

/* Returns the block of `own`, or 0 if it is not the recorded one. */
static uint32_t serve_own(struct replays *r, const struct mpr_torch_entry *e,
                          const struct mpr_caching_request *request)
{
    mpr_caching_set_capacity(r->own, r->is_refused ? r->refused_capacity : UINT64_MAX);
    const uint32_t block = mpr_caching_alloc(r->own, request);
    if (!block) refuse(r, "the allocator runs out of memory at a request that was served");
    else if (mpr_caching_address(r->own, block) != e->addr ||
             (mpr_caching_size(r->own, block) != e->size && !r->is_snapshot))
        refuse(
            r,
            "a block has another address than the allocator would give it, as with several streams or a memory pool of the program");
    else if (r->next < r->pendings || mpr_caching_totals(r->own)->reserved != r->reserved)
        refuse(r, "the log has other segments than the allocator would take");
    r->next = r->pendings = 0;
    return r->out->refused ? 0 : block;
}

/* Streams in the default pool: the program's, and the one that graphs are captured on.  The latter
 * is the same for all captures unless the program chooses others. */
enum { PROGRAM_STREAM, CAPTURE_STREAM };

/* @least: the smallest request that would have got the block */
static struct sizes_of_request look_at_sizes(struct replays *r, const struct mpr_torch_entry *e,
                                             uint64_t least)
{
    struct sizes_of_request s = { e->site, r->is_snapshot ? e->size : least, e->size, e->size };
    if (s.least < s.most) {
        const uint64_t known = mpr_known_sizes_find(r->known, e->site, s.least, s.most);
        if (known) s.likely = known;
    } else if (!r->replays) mpr_known_sizes_add(r->known, e->site, e->size);
    return s;
}

static void on_alloc(struct replays *r, const struct mpr_torch_entry *e)
{
    struct mpr_caching_request request = { .bytes = e->size,
                                           .stream = e->before_capture ? CAPTURE_STREAM
                                                     : e->pool         ? e->stream
                                                                       : PROGRAM_STREAM,
                                           .pool = e->pool,
                                           .capturing = e->pool != 0 };
    const uint64_t most = capacity(r, e);
    catch_up(r);
    const uint32_t block = serve_own(r, e, &request);
    if (!block) return;
    const struct sizes_of_request sizes = look_at_sizes(r, e, mpr_caching_least_request(r->own));
    const uint32_t place = new_place(r);
    r->out->allocations++;
    r->out->inexact += sizes.least < sizes.most;
    r->allocated += e->size;
    if (r->allocated > r->out->recorded.allocated) r->out->recorded.allocated = r->allocated;
    mpr_index_set(&r->live, e->addr, place + 1);
    numbers(r, place)[0] = block;
    uint64_t steps = mpr_caching_totals(r->own)->steps;
    for (size_t i = 0; i < r->replays; i++) {
        numbers(r, place)[1 + i] = serve(&r->replay[i], request, &sizes, most, r->now);
        steps += mpr_caching_totals(r->replay[i].allocator)->steps;
    }
    r->is_refused = false;
    if (steps > STEPS_MAX) refuse(r, "it takes too long");
}

static void on_free(struct replays *r, const struct mpr_torch_entry *e)
{
    const uint32_t place = mpr_index_get(&r->live, e->addr);
    catch_up(r);
    if (!place) return;
    const uint32_t *block = numbers(r, place - 1);
    r->allocated -= e->size;
    mpr_caching_free(r->own, block[0]);
    for (size_t i = 0; i < r->replays; i++)
        if (block[1 + i] && !r->replay[i].failed)
            mpr_caching_free(r->replay[i].allocator, block[1 + i]);
    numbers(r, place - 1)[0] = r->unused;
    r->unused = place;
    mpr_index_set(&r->live, e->addr, 0);
}

/* ---- out-of-memory errors */

static void widen(struct mpr_what_if_span *span, uint64_t bytes)
{
    if (bytes < span->low) span->low = bytes;
    if (bytes > span->high) span->high = bytes;
}

static enum mpr_what_if_answer answer(size_t yes, size_t all)
{
    return yes == all ? MPR_WHAT_IF_YES : yes ? MPR_WHAT_IF_MAYBE : MPR_WHAT_IF_NO;
}

/* Returns the bytes that the driver would have had to give. */
static uint64_t needed_for(const struct replays *r, uint64_t bytes)
{
    bytes = mpr_caching_round(&r->options->settings, bytes);
    return r->options->settings.expandable_segments ? bytes : mpr_caching_segment_size(bytes);
}

/* Repeats the failed request in all replays.  The log does not show what the program would have
 * done with the memory, so the block is freed again. */
static void ask_again(struct replays *r, const struct mpr_torch_entry *e, uint64_t most,
                      struct mpr_what_if_oom *oom)
{
    size_t fits = 0, alive = 0;
    for (size_t i = 0; i < r->replays; i++) {
        struct replay *p = &r->replay[i];
        if (p->failed) continue;
        alive++;
        mpr_caching_set_capacity(p->allocator, most);
        const uint32_t block =
            mpr_caching_alloc(p->allocator, &(struct mpr_caching_request){ .bytes = e->size });
        const uint64_t reserved = mpr_caching_totals(p->allocator)->reserved;
        fits += block != 0;
        widen(&oom->missing,
              block ? 0 : mpr_saturating_sub(reserved + needed_for(r, e->size), most));
        widen(&oom->reserved, reserved);
        if (block) note_room(p, most);
        if (block) mpr_caching_free(p->allocator, block);
    }
    oom->fits = answer(fits, alive);
    if (!alive) oom->missing = oom->reserved = (struct mpr_what_if_span){ 0, 0 };
}

static void on_oom(struct replays *r, const struct mpr_torch_entry *e)
{
    struct mpr_what_if_oom oom = { .time = r->now,
                                   .bytes = e->size,
                                   .missing = { UINT64_MAX, 0 },
                                   .reserved = { UINT64_MAX, 0 } };
    /* Without a refusal it was PyTorch's own limit, of which only this is known. */
    const uint64_t most =
        r->is_refused && e->addr != UINT64_MAX ? r->reserved + e->addr : r->reserved;
    catch_up(r);
    mpr_caching_set_capacity(r->own, most);
    if (mpr_caching_alloc(r->own, &(struct mpr_caching_request){ .bytes = e->size }))
        refuse(r, "the allocator serves a request that ran out of memory");
    else if (mpr_caching_totals(r->own)->reserved != r->reserved)
        refuse(r, "the allocator releases other segments than the log has");
    r->next = r->pendings = 0;
    r->is_refused = false;
    if (r->out->refused) return;
    ask_again(r, e, most, &oom);
    *MPR_ADD(r->out->oom, r->out->ooms, r->oom_cap) = oom;
}

/* ---- entries */

static void on_entry(void *arg, const struct mpr_torch_entry *e)
{
    struct replays *r = arg;
    r->now = e->time_ns;
    const bool over = r->out->refused != NULL;
    if (over) r->next = r->pendings = 0;
    switch (e->action) {
    case MPR_TORCH_SEGMENT_ALLOC: on_segment(r, e, false); break;
    case MPR_TORCH_SEGMENT_MAP: on_segment(r, e, true); break;
    case MPR_TORCH_SEGMENT_FREE:
    case MPR_TORCH_SEGMENT_UNMAP: on_segment_free(r, e); break;
    case MPR_TORCH_ALLOC:
        if (!over) on_alloc(r, e);
        break;
    case MPR_TORCH_FREE:
        if (!over) on_free(r, e);
        break;
    case MPR_TORCH_OOM:
        if (!over) on_oom(r, e);
        break;
    case MPR_TORCH_REFUSAL:
        if (e->addr == UINT64_MAX) break;
        r->is_refused = true;
        r->refused_capacity = r->reserved + e->addr;
        break;
    }
}

/* ---- the result */

/* Returns why a log cannot be replayed, whatever its blocks are, or NULL. */
static const char *defect_of(const struct mpr_summary *log,
                             const struct mpr_caching_settings *settings, uint64_t total)
{
    if (settings->memory_fraction > 0 && !total)
        return "the size of the device is not known, so a share of it is not either";
    if (log->fold.state != MPR_FOLD_NONE)
        return "the log was thinned, and the order of its blocks is not in it";
    if (log->lost_events) return "events were lost";
    if (log->journal_only || log->damaged || log->missing_frames) return "parts of it are missing";
    return NULL;
}

static void summarize(struct replays *r)
{
    struct mpr_what_if_device *d = r->out;
    size_t served = 0;
    const struct replay *first = NULL;
    if (!r->replays) return;
    d->estimate = r->replay[0].peak;
    d->reserved = (struct mpr_what_if_span){ UINT64_MAX, 0 };
    d->room = UINT64_MAX;
    d->replays = r->replays;
    for (size_t i = 0; i < r->replays; i++) {
        const struct replay *p = &r->replay[i];
        served += !p->failed;
        if (p->failed && (!first || p->failed_ns < first->failed_ns)) first = p;
        if (p->peak >= d->reserved.high) d->time = p->peak_time;
        widen(&d->reserved, p->peak);
        if (p->room < d->room) d->room = p->room;
    }
    d->fits = d->room == UINT64_MAX && served ? MPR_WHAT_IF_UNKNOWN : answer(served, r->replays);
    if (!first) return;
    d->failed_ns = first->failed_ns;
    d->failed_bytes = first->failed_bytes;
}

/* The size of a device that the log does not have: it only bounds the addresses of an expandable
 * segment. */
#define TOTAL_UNKNOWN (UINT64_C(1) << 40)

/* Reads the trace once.  @replays: REPLAYS, or 0 to learn the known sizes */
static int read_trace(struct mpr_what_if *result, struct mpr_what_if_device *device,
                      struct mpr_known_sizes *known, size_t replays, uint64_t total,
                      const char *path, const struct mpr_progress *progress,
                      struct mpr_error *error)
{
    struct replays r = { .out = device,
                         .is_snapshot = result->summary.torch_snapshot,
                         .total = total ? total : TOTAL_UNKNOWN,
                         .options = &result->options,
                         .known = known,
                         .replays = replays };
    const struct mpr_torch_options options = { .device = device->index,
                                               .refusals = true,
                                               .until_ns = UINT64_MAX,
                                               .report = on_entry,
                                               .arg = &r };
    struct mpr_torch_state state;
    const int status = mpr_torch_trace_read(&state, NULL, path, &options, progress, error);
    if (status == 0) {
        mpr_torch_state_free(&state);
        start(&r);
        summarize(&r);
    }
    mpr_caching_close(r.own);
    for (size_t i = 0; i < r.replays; i++) mpr_caching_close(r.replay[i].allocator);
    mpr_index_free(&r.live);
    mpr_index_free(&r.pool_of);
    free(r.block);
    free(r.pending);
    return status;
}

/* Fills the device, for which the index and the name are set.  If the first reading shows that the
 * log cannot be replayed, there is no second one. */
static int read_device(struct mpr_what_if *result, struct mpr_what_if_device *device,
                       uint64_t total, const char *path, const struct mpr_progress *progress,
                       struct mpr_error *error)
{
    const struct mpr_what_if_device empty = {
        .index = device->index,
        .name = device->name,
        .refused = defect_of(&result->summary, &result->options.settings, total),
        .refused_ns = UINT64_MAX
    };
    struct mpr_known_sizes known = { .at = NULL };
    *device = empty;
    int status = read_trace(result, device, &known, 0, total, path, progress, error);
    if (status == 0 && !device->refused) {
        free(device->oom);
        *device = empty;
        status = read_trace(result, device, &known, REPLAYS, total, path, progress, error);
    }
    struct mpr_what_if_oom *oom =
        mpr_arena_alloc(&result->arena, device->ooms * sizeof *device->oom);
    if (device->ooms) memcpy(oom, device->oom, device->ooms * sizeof *oom);
    free(device->oom);
    device->oom = oom;
    mpr_known_sizes_free(&known);
    return status;
}

int mpr_what_if_read(struct mpr_what_if *result, const char *path,
                     const struct mpr_what_if_options *options, const struct mpr_progress *progress,
                     struct mpr_error *error)
{
    struct mpr_torch_survey survey;
    int status = 0;
    *result = (struct mpr_what_if){ .options = *options };
    if (mpr_torch_survey(&survey, path, progress, error) != 0) return -1;
    result->arena = survey.arena; /* now the result's */
    result->summary = survey.summary;
    result->device = mpr_arena_alloc(&result->arena, survey.devices * sizeof *result->device);
    for (unsigned i = 0; i < survey.devices && status == 0; i++) {
        const struct mpr_torch_survey_device *d = &survey.device[i];
        if (!d->used) continue;
        struct mpr_what_if_device *device = &result->device[result->devices++];
        device->index = i;
        device->name = d->name;
        status = read_device(result, device, d->total, path, progress, error);
    }
    if (status != 0) mpr_what_if_free(result);
    return status;
}

void mpr_what_if_free(struct mpr_what_if *result) { mpr_arena_free(&result->arena); }
