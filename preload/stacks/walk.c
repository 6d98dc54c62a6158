#include "stacks/walk.h"

static inline bool same_frame(const struct mp_frame *a, const struct mp_frame *b)
{
    return a->pc == b->pc && a->sp == b->sp && a->fp_at == b->fp_at;
}

/* Compares a fixed number of words, without unpredictable branches, and in order: the place of a
 * word was found through the words before it, so after a difference only words are read that the
 * unwinder would also read. A NULL word occurs in a child that was forked in a handler during
 * this. */
static inline bool reads_the_same(const struct mp_run *r)
{
    for (unsigned i = 0; i < MP_RUN_READS; i++) {
        const uintptr_t *at = __atomic_load_n(&r->read[i].at, __ATOMIC_RELAXED);
        if (!at || *at != r->read[i].word) return false;
    }
    return true;
}

/* A run begins at every eighth address. */
static bool a_run_begins(const struct mp_frame *f)
{
    return f->sp * UINT64_C(0x9e3779b97f4a7c15) >> 61 == 0;
}

/* An unused entry is compared with itself. */
static void fill_reads(struct mp_run *r, unsigned n)
{
    for (; n < MP_RUN_READS; n++) r->read[n].at = &r->read[n].word;
}

/* The end of a stack also depends only on the words that were read. Returns false if there is a
 * frame of a signal handler, which depends on more than the stack. */
static bool make_run(struct mp_run *r, struct mp_frame f, struct mp_bounds b, uint32_t generation)
{
    unsigned n = 0;
    enum mp_step how = MP_STEP_MADE;
    r->generation = r->frames = r->calls = 0;
    r->from = f;
    r->hash = mp_hash_of_none();
    do {
        struct mp_reads reads;
        how = mp_unwind_step(&f, b, generation, &reads);
        for (unsigned i = 0; i < reads.count; i++) r->read[n++] = reads.read[i];
        if (how != MP_STEP_MADE) break;
        r->calls |= (uint8_t)(1u << n >> 1); /* the last word that a step reads */
        r->hash = mp_hash_word(r->hash, f.pc);
        r->frames++;
    } while (!a_run_begins(&f) && n + MP_READS_MAX <= MP_RUN_READS);
    if (how == MP_STEP_SIGNAL) return false;
    fill_reads(r, n);
    r->to = f;
    r->is_last = how != MP_STEP_MADE;
    r->generation = generation + 1;
    return true;
}

static inline bool is_valid_run(const struct mp_run *r, const struct mp_frame *f,
                                uint32_t generation)
{
    return r->generation == generation + 1 && same_frame(&r->from, f) && reads_the_same(r);
}

/* Looks at two places, because two continuations of a frame may alternate. A run that is at neither
 * place replaces one, then the other. */
static const struct mp_run *run_from(struct mp_walker *w, const struct mp_frame *f,
                                     struct mp_bounds b, uint32_t generation)
{
    struct mp_run *pair =
        w->run[(f->sp ^ f->pc << 20) * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (MP_RUN_PAIRS - 1)];
    if (__builtin_expect(is_valid_run(&pair[0], f, generation), 1)) return &pair[0];
    if (is_valid_run(&pair[1], f, generation)) return &pair[1];
    struct mp_run *r = &pair[w->next_made ^= 1];
    return make_run(r, *f, b, generation) ? r : NULL;
}

/* Nothing is read from a stack that the thread is not on. */
static void come_to(struct mp_walker *w, struct mp_bounds b)
{
    if (w->stack.low == b.low && w->stack.bytes == b.bytes) return;
    for (unsigned i = 0; w->stack.bytes && i < MP_RUN_PAIRS; i++)
        w->run[i][0].generation = w->run[i][1].generation = 0;
    w->stack = b;
}

/* The outermost frames of a deep stack are left out, as in mp_unwind. */
static struct mp_hash join_frames(struct mp_hash h, const struct mp_run *r, unsigned frames)
{
    for (unsigned i = 0; frames; i++) {
        if (!(r->calls >> i & 1)) continue;
        h = mp_hash_word(h, mp_machine_code(r->read[i].word));
        frames--;
    }
    return h;
}

bool mp_walk(struct mp_walker *w, const struct mp_frame *from, uint32_t generation,
             struct mp_hash *out)
{
    struct mp_bounds b;
    if (!mp_unwind_bounds(from->sp, &b)) return false;
    come_to(w, b);
    struct mp_frame f = *from;
    struct mp_hash hash = mp_hash_word(mp_hash_of_none(), f.pc);
    unsigned room = MP_UNWIND_MAX - 1;
    for (bool more = true; more && room;) {
        const struct mp_run *r = run_from(w, &f, b, generation);
        if (!r) return false;
        const bool whole = r->frames <= room;
        hash = whole ? mp_hash_join(hash, r->hash) : join_frames(hash, r, room);
        room = whole ? room - r->frames : 0;
        f = r->to;
        more = !r->is_last;
    }
    *out = hash;
    return true;
}
