/* An event is in flight while its slot is reserved and not committed, because its thread was
 * descheduled or interrupted in between. The watermark stays before it. After PATIENCE_NS it is
 * given up, because the thread jumped out of a signal handler. At the log's end it is given up at
 * once if the thread has stored a later event. Time between two looks hardly counts, because the
 * whole process may have been stopped or had no processor. */
#include "core/survey.h"

#include "core/loss.h"
#include "core/state.h"

#define PATIENCE_NS 500000000u
#define LOOK_NS     100000000u /* the maximum that counts between two looks */
#define AHEAD       48         /* slots to prefetch, because another processor wrote them */

/* Returns the number of the chunk's slots below the thread's cursor, or UINT32_MAX if the cursor is
 * in another chunk. */
static uint32_t below_cursor(const struct mp_thread *t, uint32_t chunk)
{
    const uintptr_t first = (uintptr_t)mp_chunk_at(chunk)->slot;
    const uintptr_t cur = (uintptr_t)mp_cursor_slot(__atomic_load_n(&t->cur, __ATOMIC_ACQUIRE));
    const uintptr_t n = (cur - first) / sizeof(struct mpf_slot);
    if (cur < first || n > MPF_CHUNK_SLOTS + 2) return UINT32_MAX;
    return n < MPF_CHUNK_SLOTS ? (uint32_t)n : MPF_CHUNK_SLOTS;
}

/* Returns the number of reserved slots of the chunk, and the next chunk. A thread links its next
 * chunk before it moves its cursor there. So if the cursor has left a chunk that had no next one,
 * it has one by now. */
static uint32_t reserved(const struct mp_thread *t, uint32_t chunk, uint32_t *next)
{
    const struct mp_chunk_meta *meta = mp_meta_at(chunk);
    *next = __atomic_load_n(&meta->next, __ATOMIC_ACQUIRE);
    if (*next) return meta->used;
    const uint32_t slots = below_cursor(t, chunk);
    if (slots != UINT32_MAX) return slots;
    *next = __atomic_load_n(&meta->next, __ATOMIC_ACQUIRE);
    return *next ? meta->used : 0;
}

static bool has_tag(const struct mpf_slot *s, unsigned tag)
{
    return mpf_slot_tag(__atomic_load_n(&s->head, __ATOMIC_ACQUIRE)) == tag;
}
static bool committed(const struct mpf_chunk *c, uint32_t slot)
{
    return has_tag(&c->slot[slot], c->tag);
}

/* Returns the first slot at or after `slot` that is not committed, or `end`. */
static uint32_t committed_from(const struct mpf_chunk *c, uint32_t slot, uint32_t end)
{
    const struct mpf_slot *s = c->slot + slot, *const last = c->slot + end;
    for (const unsigned tag = c->tag; s < last && has_tag(s, tag); s++)
        __builtin_prefetch(s + AHEAD);
    return (uint32_t)(s - c->slot);
}

/* Skips the slots below `upto`. Their thread may still write them. */
static void give_up(struct mp_thread *t, struct mp_chunk_meta *meta, uint32_t upto)
{
    meta->retired = 1;
    meta->ready = upto;
    t->looked = 0;
    mp_loss(MPF_LOSS_TORN, 1);
}

/* Returns how long the thread has been blocked, counting only the time between looks. */
static uint32_t update_blocked(struct mp_thread *t, uint64_t mono)
{
    const uint64_t more = t->looked ? mono - t->looked : 0;
    t->blocked = (t->looked ? t->blocked : 0) + (uint32_t)(more < LOOK_NS ? more : LOOK_NS);
    t->looked = mono;
    return t->blocked;
}

/* A slot is in flight: keeps the watermark at the thread's last event, or gives the slot up. */
static bool wait_for(struct mp_thread *t, uint32_t chunk, uint64_t *upto)
{
    struct mp_chunk_meta *meta = mp_meta_at(chunk);
    if (update_blocked(t, mp_sys_clock(CLOCK_MONOTONIC)) > PATIENCE_NS) {
        give_up(t, meta, meta->ready + 1);
        return false;
    }
    const struct mpf_slot *before = meta->ready ? &mp_chunk_at(chunk)->slot[meta->ready - 1] : NULL;
    uint64_t bound = mp_process->watermark;
    if (before && mpf_slot_op(before->head) != MPF_OP_CONT && before->time > bound)
        bound = before->time;
    if (bound < *upto) *upto = bound;
    return true;
}

/* Returns the next event at or after a slot, or `end`. Data is stored before its event and is not
 * an event. */
static uint32_t next_event(const struct mpf_chunk *c, uint32_t slot, uint32_t end)
{
    while (slot < end && (!committed(c, slot) || mpf_slot_op(c->slot[slot].head) == MPF_OP_CONT))
        slot++;
    return slot;
}

/* A slot is in flight at the log's end. If no event follows, it is omitted with everything after
 * it. Otherwise it is given up. A running thread may have stored it before the later event was
 * seen, so it is checked once more. */
static bool leave_out(struct mp_thread *t, uint32_t chunk, uint32_t end, bool last)
{
    struct mp_chunk_meta *meta = mp_meta_at(chunk);
    const uint32_t event = next_event(mp_chunk_at(chunk), meta->ready, end);
    if (event == end && last) return true;
    if (!committed(mp_chunk_at(chunk), meta->ready)) give_up(t, meta, event);
    return false;
}

uint64_t mp_survey(struct mp_thread *t, uint64_t upto, bool at_end)
{
    for (uint32_t link = __atomic_load_n(&t->first, __ATOMIC_ACQUIRE); link;) {
        struct mp_chunk_meta *meta = mp_meta_at(link - 1);
        const struct mpf_chunk *c = mp_chunk_at(link - 1);
        uint32_t next;
        const uint32_t end = reserved(t, link - 1, &next);
        for (;;) {
            if (meta->ready < end) meta->ready = committed_from(c, meta->ready, end);
            if (meta->ready >= end) {
                t->looked = 0;
                break;
            }
            if (at_end ? leave_out(t, link - 1, end, !next) : wait_for(t, link - 1, &upto))
                return upto;
        }
        link = next;
    }
    return upto;
}

static bool allocates(unsigned op)
{
    return op == MPF_OP_ALLOC || op == MPF_OP_MOVE_END || op == MPF_OP_MAP ||
           op == MPF_OP_PROTECT_RW || op == MPF_OP_REMAP_TO || op == MPF_OP_HANDLE_NEW;
}

/* Looks at the newest events first, up to one that is older. */
static uint64_t allocated_in(uint32_t chunk, uint32_t end, uint64_t from)
{
    const struct mpf_chunk *c = mp_chunk_at(chunk);
    const uint32_t first = mp_meta_at(chunk)->pending;
    uint64_t bytes = 0;
    for (uint32_t i = end; i > first; i--) {
        const struct mpf_slot *s = &c->slot[i - 1];
        if (!committed(c, i - 1) || mpf_slot_op(s->head) == MPF_OP_CONT) continue;
        if (s->time < from) break;
        if (allocates(mpf_slot_op(s->head))) bytes += mpf_slot_size(s->head);
    }
    return bytes;
}

uint64_t mp_survey_allocated(const struct mp_thread *t, uint64_t from)
{
    uint64_t bytes = 0;
    for (uint32_t link = __atomic_load_n(&t->first, __ATOMIC_ACQUIRE), next; link; link = next)
        bytes += allocated_in(link - 1, reserved(t, link - 1, &next), from);
    return bytes;
}

bool mp_survey_drained(const struct mp_thread *t)
{
    return t->first && t->first == t->last &&
           mp_meta_at(t->first - 1)->drained == below_cursor(t, t->first - 1);
}
