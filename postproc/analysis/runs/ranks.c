/* The process of each rank, the clocks of nodes, failures, and bytes over time. */
#include "ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "index.h"
#include "mpf/end.h"
#include "numbered_names.h"

void mpr_ranks_free(struct mpr_ranks *r) { mpr_arena_free(&r->arena); }

/* ---- claims */

/* A process with the rank that it has by its log. */
struct claim {
    const struct mpr_digest *digest;
    uint64_t number;          /* UINT64_MAX if its rank is not a number */
    uint64_t device, largest; /* peak bytes: the largest on a device, and of any heap */
};

static struct claim claim_of(const struct mpr_digest *d)
{
    enum { DIGITS = 9 };
    const char *rank = d->process->rank;
    const size_t length = strlen(rank);
    const bool numeric = length && length <= DIGITS && strspn(rank, "0123456789") == length;
    struct claim c = { .digest = d, .number = numeric ? strtoull(rank, NULL, 10) : UINT64_MAX };
    for (size_t i = 0; i < d->heaps; i++) {
        const uint64_t peak = d->heap[i].peak_bytes;
        if (peak > c.largest) c.largest = peak;
        if (mpf_heap_is_gpu(d->heap[i].heap) && peak > c.device) c.device = peak;
    }
    return c;
}

/* Sorts by rank. The claims of one rank are sorted by their peaks, those without a rank by their
 * start. */
static int by_claim(const void *left, const void *right)
{
    const struct claim *a = left, *b = right;
    const struct mpr_digest_process *x = a->digest->process, *y = b->digest->process;
    int order = mpr_compare(a->number, b->number);
    if (!order && a->number == UINT64_MAX) order = strcmp(x->rank, y->rank);
    if (!order && *x->rank)
        order = mpr_compare(b->device, a->device) ?: mpr_compare(b->largest, a->largest);
    if (!order) order = mpr_compare(x->start_ns, y->start_ns) ?: strcmp(x->host, y->host);
    return order ?: mpr_compare(x->pid, y->pid) ?: strcmp(x->file, y->file);
}

/* "7" and "007" are the same rank. */
static bool is_same_rank(const struct claim *a, const struct claim *b)
{
    if (a->number != UINT64_MAX) return a->number == b->number;
    return strcmp(a->digest->process->rank, b->digest->process->rank) == 0;
}

/* Returns the pid of the process's oldest ancestor among the claims, or its own pid.
 * @by_pid: the indices of the claims + 1 */
static uint64_t root_of(const struct claim *of, const struct mpr_index *by_pid,
                        const struct mpr_digest_process *p)
{
    enum { GENERATIONS = 16 };
    for (int i = 0; i < GENERATIONS; i++) {
        uint32_t parent = UINT32_MAX;
        MPR_INDEX_EACH(k, by_pid, p->ppid)
            if (k < parent && strcmp(of[k - 1].digest->process->host, p->host) == 0) parent = k;
        if (parent == UINT32_MAX || p->ppid == p->pid) break;
        p = of[parent - 1].digest->process;
    }
    return p->pid;
}

/* Returns true if two claims of a rank are of one job: they have a common ancestor, or ran at
 * the same time. A worker's parent may have left no log. Two jobs in one directory ran one after
 * the other. */
static bool is_same_job(const struct claim *of, const struct mpr_index *by_pid, size_t which)
{
    const struct mpr_digest_process *a = of[0].digest->process, *b = of[which].digest->process;
    const bool overlap = a->start_ns && b->start_ns && a->start_ns < b->start_ns + b->duration_ns &&
                         b->start_ns < a->start_ns + a->duration_ns;
    return strcmp(a->host, b->host) == 0 &&
           (overlap || root_of(of, by_pid, a) == root_of(of, by_pid, b));
}

/* Returns true if both logs are of one process that executed another program. */
static bool same_process(const struct mpr_digest_process *a, const struct mpr_digest_process *b)
{
    return a->pid == b->pid && strcmp(a->host, b->host) == 0 &&
           mpf_end_named(a->start_ns <= b->start_ns ? a->ended : b->ended) == MPF_END_EXEC;
}

/* ---- ranks */

static void add_rank(struct mpr_ranks *r, const struct claim *c)
{
    const struct mpr_digest_process *p = c->digest->process;
    const char *name = c->number != UINT64_MAX
                           ? mpr_arena_format(&r->arena, "rank %" PRIu64, c->number)
                       : *p->rank ? mpr_arena_format(&r->arena, "rank %.20s", p->rank)
                                  : mpr_arena_format(&r->arena, "pid %" PRIu64, p->pid);
    r->rank[r->ranks++] = (struct mpr_rank){
        .digest = c->digest, .name = name, .host = p->host, .number = c->number, .peak = c->largest
    };
    r->incomplete |= p->incomplete;
}

/* Adds the first claim of each rank, and counts the other processes. */
static void add_numbered(struct mpr_ranks *r, const struct claim *claim, size_t claims)
{
    for (size_t first = 0, end; first < claims; first = end) {
        const struct claim *of = &claim[first];
        for (end = first + 1; end < claims && is_same_rank(&claim[end], of);) end++;
        if (!*of->digest->process->rank) {
            r->unranked += end - first;
            continue;
        }
        struct mpr_index by_pid = { 0 };
        for (size_t i = 0; i < end - first; i++)
            mpr_index_add(&by_pid, of[i].digest->process->pid, (uint32_t)i + 1);
        add_rank(r, of);
        for (size_t i = 1; i < end - first; i++) {
            if (same_process(of->digest->process, of[i].digest->process)) r->executed++;
            else if (is_same_job(of, &by_pid, i)) r->belonging++;
            else
                r->duplicate[r->duplicates++] =
                    (struct mpr_ranks_duplicate){ r->rank[r->ranks - 1].name, of->digest,
                                                  of[i].digest };
        }
        mpr_index_free(&by_pid);
    }
}

/* Adds each process, with the program that held most if it executed several. The claims are
 * sorted by start; those of later programs lose their digest. */
static void add_unnumbered(struct mpr_ranks *r, struct claim *claim, size_t claims)
{
    for (size_t first = 0; first < claims; first++) {
        if (!claim[first].digest) continue;
        struct claim last = claim[first], largest = last;
        for (size_t i = first + 1;
             i < claims && mpf_end_named(last.digest->process->ended) == MPF_END_EXEC; i++) {
            if (!claim[i].digest || !same_process(last.digest->process, claim[i].digest->process))
                continue;
            last = claim[i];
            claim[i].digest = NULL;
            if (last.device != largest.device ? last.device > largest.device
                                              : last.largest > largest.largest)
                largest = last;
            r->executed++;
        }
        add_rank(r, &largest);
    }
}

/* Lists the ranks without a log. The job has as many ranks as its largest communicator, or as
 * the largest rank requires. */
static void find_missing(struct mpr_ranks *r)
{
    enum { MAX_SIZE = 1 << 20 };
    uint64_t size = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest *d = r->rank[i].digest;
        if (r->rank[i].number != UINT64_MAX && r->rank[i].number >= size)
            size = r->rank[i].number + 1;
        for (size_t k = 0; k < d->comms; k++)
            if (d->comm[k].ranks != UINT64_MAX && d->comm[k].ranks > size) size = d->comm[k].ranks;
    }
    if (size > MAX_SIZE) size = MAX_SIZE;
    uint64_t *missing = mpr_alloc(size, sizeof *missing);
    for (uint64_t number = 0, i = 0; number < size; number++) {
        if (i < r->ranks && r->rank[i].number == number) i++;
        else missing[r->missings++] = number;
    }
    if (r->missings == 1) r->missing = mpr_arena_format(&r->arena, "%" PRIu64, missing[0]);
    else if (r->missings) r->missing = mpr_number_set(&r->arena, missing, r->missings);
    free(missing);
}

/* Finds the process of each rank, missing ranks, and ranks with two processes. */
static void choose_processes(struct mpr_ranks *r, const struct mpr_digest *digest, size_t digests)
{
    struct claim *claim = mpr_alloc(digests, sizeof *claim);
    for (size_t i = 0; i < digests; i++) {
        claim[i] = claim_of(&digest[i]);
        r->numbered |= *digest[i].process->rank != 0;
    }
    if (digests) qsort(claim, digests, sizeof *claim, by_claim);
    r->rank = mpr_arena_alloc(&r->arena, digests * sizeof *r->rank);
    r->duplicate = mpr_arena_alloc(&r->arena, digests * sizeof *r->duplicate);
    if (r->numbered) {
        add_numbered(r, claim, digests);
        find_missing(r);
    } else add_unnumbered(r, claim, digests);
    r->incomplete |= r->missings || r->duplicates;
    free(claim);
}

const char *mpr_ranks_set(const struct mpr_ranks *r, struct mpr_arena *arena, const size_t *rank,
                          size_t count)
{
    if (count == 1) return r->rank[rank[0]].name;
    uint64_t *number = mpr_alloc(count, sizeof *number);
    for (size_t i = 0; i < count; i++)
        number[i] = r->rank[rank[i]].number != UINT64_MAX ? r->rank[rank[i]].number : rank[i];
    const char *set = mpr_number_set(arena, number, count);
    free(number);
    return set;
}

/* ---- clocks of nodes
 *
 * All ranks of a communicator create it together, so its nodes record it at about the same time.
 * Nodes without a common communicator are compared by the first instance of the repeated range.
 * Ranks begin that when they are ready, so it only shows clocks that are far apart. */

static size_t clock_of(struct mpr_ranks *r, const char *host)
{
    size_t i = 0;
    while (i < r->clocks && strcmp(r->clock[i].host, host) != 0) i++;
    if (i == r->clocks) r->clock[r->clocks++] = (struct mpr_ranks_clock){ .host = host };
    return i;
}

/* The time of an event by the clock of a node. */
struct sighting {
    const char *event; /* a communicator's hash, or a range's name */
    size_t clock;      /* of the node */
    uint64_t time;
};

MPR_COMPARE(by_event, struct sighting,
            strcmp(a->event, b->event) ?: mpr_compare(a->clock, b->clock)
                                       ?: mpr_compare(a->time, b->time))

/* Returns the events of all ranks, sorted by event: for each node one, with the median time of
 * its ranks. The caller frees them. */
static struct sighting *sightings_of(struct mpr_ranks *r, enum mpr_clock_source by, size_t *count)
{
    struct sighting *s = NULL;
    size_t sightings = 0, cap = 0;
    *count = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest *d = r->rank[i].digest;
        const size_t clock = clock_of(r, r->rank[i].host);
        const uint64_t start = d->process->start_ns;
        if (!start) continue;
        if (by == MPR_CLOCK_BY_RANGE && d->instances) {
            MPR_GROW(s, sightings, cap);
            s[sightings++] =
                (struct sighting){ d->instance[0].range, clock, start + d->instance[0].begin_ns };
        }
        for (size_t k = 0; by == MPR_CLOCK_BY_COMM && k < d->comms; k++) {
            const struct mpr_digest_comm *c = &d->comm[k];
            if (!*c->communicator || c->first_ns == UINT64_MAX) continue;
            MPR_GROW(s, sightings, cap);
            s[sightings++] = (struct sighting){ c->communicator, clock, start + c->first_ns };
        }
    }
    if (sightings) qsort(s, sightings, sizeof *s, by_event);
    for (size_t i = 0, end; i < sightings; i = end) {
        for (end = i; end < sightings && strcmp(s[end].event, s[i].event) == 0 &&
                      s[end].clock == s[i].clock;)
            end++;
        s[(*count)++] = s[(i + end) / 2];
    }
    return s;
}

/* Derives the clocks of nodes from an event that a node with a known clock also recorded.
 * Returns true if a clock became known. */
static bool derive_clocks(struct mpr_ranks *r, const struct sighting *s, size_t count,
                          enum mpr_clock_source by)
{
    const struct sighting *known = NULL;
    bool any = false;
    for (size_t i = 0; !known && i < count; i++)
        if (r->clock[s[i].clock].known) known = &s[i];
    for (size_t i = 0; known && i < count; i++) {
        struct mpr_ranks_clock *c = &r->clock[s[i].clock];
        if (c->known) continue;
        any = c->known = true;
        c->by = by;
        c->ahead_ns = mpr_signed_add(r->clock[known->clock].ahead_ns,
                                     mpr_signed_difference(known->time, s[i].time));
    }
    return any;
}

/* Derives clocks from node to node, until no more become known. */
static void follow_events(struct mpr_ranks *r, enum mpr_clock_source by)
{
    size_t sightings;
    struct sighting *s = sightings_of(r, by, &sightings);
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0, end; i < sightings; i = end) {
            for (end = i; end < sightings && strcmp(s[end].event, s[i].event) == 0;) end++;
            any |= derive_clocks(r, &s[i], end - i, by);
        }
    }
    free(s);
}

/* Finds the clocks of the nodes, and corrects the wall times of their ranks. */
static void correct_clocks(struct mpr_ranks *r)
{
    static const int64_t apart_ns[] = {
        [MPR_CLOCK_BY_COMM] = 1000000000, [MPR_CLOCK_BY_RANGE] = 30000000000
    };
    size_t known = 0;
    r->clock = mpr_arena_alloc(&r->arena, r->ranks * sizeof *r->clock);
    if (r->ranks) r->clock[clock_of(r, r->rank[0].host)].known = true;
    follow_events(r, MPR_CLOCK_BY_COMM);
    follow_events(r, MPR_CLOCK_BY_RANGE);
    for (size_t i = 0; i < r->clocks; i++)
        r->clock[i].shifted = llabs(r->clock[i].ahead_ns) > apart_ns[r->clock[i].by];
    for (size_t i = 0; i < r->ranks; i++) {
        struct mpr_rank *rank = &r->rank[i];
        const struct mpr_digest_process *p = rank->digest->process;
        const struct mpr_ranks_clock *c = &r->clock[clock_of(r, rank->host)];
        if (c->shifted) rank->clock_ns = c->ahead_ns;
        const int64_t start = mpr_signed_sub(mpr_saturating_signed(p->start_ns), rank->clock_ns);
        rank->start_ns = p->start_ns && start > 0 ? (uint64_t)start : 0;
        rank->failed_ns = p->failed_ns == UINT64_MAX ? UINT64_MAX : rank->start_ns + p->failed_ns;
    }
    for (size_t i = 1; i < r->clocks; i++) /* the first clock is the reference */
        if (r->clock[i].known) r->clock[known++] = r->clock[i];
    r->clocks = known;
}

/* ---- failures */

static int by_failure(const void *left, const void *right, void *arg)
{
    const struct mpr_ranks *r = arg;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return mpr_compare(r->rank[a].failed_ns, r->rank[b].failed_ns) ?: mpr_compare(a, b);
}

static void find_failures(struct mpr_ranks *r)
{
    r->failed = mpr_arena_alloc(&r->arena, r->ranks * sizeof *r->failed);
    for (size_t i = 0; i < r->ranks; i++)
        if (r->rank[i].failed_ns != UINT64_MAX) r->failed[r->failures++] = i;
    if (r->failures) qsort_r(r->failed, r->failures, sizeof *r->failed, by_failure, r);
}

/* ---- ranks over wall time, in columns */

static size_t column_of(const struct mpr_ranks *r, uint64_t time)
{
    const uint64_t at = time <= r->heat_from ? 0 : (time - r->heat_from) / r->heat_width;
    return at < MPR_RANKS_COLUMNS ? (size_t)at : MPR_RANKS_COLUMNS - 1;
}

static void raise_columns(struct mpr_ranks *r, uint64_t *row, size_t from, size_t to,
                          uint64_t bytes)
{
    for (size_t i = from; i <= to; i++)
        if (bytes > row[i]) row[i] = bytes;
    if (bytes > r->heat_max) r->heat_max = bytes;
}

/* Fills the row of a rank. The maximum of a span is in the column of its time; the minimum
 * covers the time until the next span. */
static void fill_heat(struct mpr_ranks *r, size_t rank, uint8_t heap)
{
    const struct mpr_digest *d = r->rank[rank].digest;
    const uint64_t start = r->rank[rank].start_ns;
    uint64_t *row = r->heat + rank * MPR_RANKS_COLUMNS;
    for (size_t i = 0; i < d->spans; i++) {
        const struct mpr_digest_span *s = &d->span[i];
        if (s->heap != heap) continue;
        const bool last = i + 1 == d->spans || d->span[i + 1].heap != heap;
        const uint64_t end = last ? d->process->duration_ns : d->span[i + 1].start_ns;
        const size_t at = column_of(r, start + s->time_of_max_ns),
                     to = column_of(r, start + (end ? end - 1 : 0));
        raise_columns(r, row, at, at, s->max_bytes);
        raise_columns(r, row, column_of(r, start + s->start_ns), to, s->min_bytes);
        raise_columns(r, row, to, to, s->end_bytes);
    }
}

/* Fills the heat map, unless no rank's start is known. */
static void fill_heat_map(struct mpr_ranks *r)
{
    uint64_t from = UINT64_MAX, to = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_rank *rank = &r->rank[i];
        const uint64_t end = rank->start_ns + rank->digest->process->duration_ns;
        if (!rank->start_ns) continue;
        if (rank->start_ns < from) from = rank->start_ns;
        if (end > to) to = end;
    }
    if (!r->measures || from >= to) return;
    r->heat_from = from;
    r->heat_width = (to - from) / MPR_RANKS_COLUMNS + 1;
    r->heat = mpr_arena_alloc(&r->arena, r->ranks * MPR_RANKS_COLUMNS * sizeof *r->heat);
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest_heap *h =
            mpr_ranks_heap(r->rank[i].digest, r->measure[r->shown].kind);
        if (h && r->rank[i].start_ns) fill_heat(r, i, h->heap);
    }
}

void mpr_ranks_make(struct mpr_ranks *r, const struct mpr_digest *digest, size_t digests)
{
    *r = (struct mpr_ranks){ .missing = "" };
    choose_processes(r, digest, digests);
    correct_clocks(r);
    mpr_ranks_share(r);
    mpr_ranks_measure(r);
    mpr_ranks_gather(r);
    find_failures(r);
    fill_heat_map(r);
}
