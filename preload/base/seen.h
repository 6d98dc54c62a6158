/* Sets of IDs that are already in the log: open addressing, without a lock. They are empty in a
 * forked child, which has a separate log.
 *
 * A full set forgets IDs: an ID that finds no free place near its own replaces another one, which
 * is recorded again at its next use. */
#ifndef MP_SEEN_H
#define MP_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash of consecutive words, or of consecutive rows: each word is mixed separately, with a weight
 * that depends on its place. */
struct mp_hash {
    uint64_t sum, weight;
};
static inline struct mp_hash mp_hash_of_none(void) { return (struct mp_hash){ 0, 1 }; }
static inline struct mp_hash mp_hash_join(struct mp_hash a, struct mp_hash b)
{
    return (struct mp_hash){ a.sum + b.sum * a.weight, a.weight * b.weight };
}
static inline struct mp_hash mp_hash_word(struct mp_hash h, uint64_t word)
{
    word = (word ^ UINT64_C(0xd1342543de82ef95)) * UINT64_C(0x9e3779b97f4a7c15);
    return mp_hash_join(h, (struct mp_hash){ (word ^ word >> 32) * UINT64_C(0xaf251af3b0f025b5),
                                             UINT64_C(0xc2b2ae3d27d4eb4f) });
}

/* Returns the ID of the hashed data: 48 bits, never 0. The probability that two of 10^4 arrays have
 * the same ID is 10^-7. */
static inline uint64_t mp_hash_id(struct mp_hash h)
{
    const uint64_t id = (h.sum ^ h.sum >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 16;
    return id ? id : 1;
}
static inline struct mp_hash mp_hash_of(const uint64_t *word, size_t count)
{
    struct mp_hash h = mp_hash_of_none();
    for (size_t i = 0; i < count; i++) h = mp_hash_word(h, word[i]);
    return h;
}
static inline uint64_t mp_seen_id(const uint64_t *word, size_t count)
{
    return mp_hash_id(mp_hash_of(word, count));
}

/* Returns an ID for the sets. @generation: mp_loss_now() from before the ID was recorded. If a
 * frame is lost, the value changes, so that the ID is not found any more. */
static inline uint64_t mp_seen_in(uint64_t id, uint32_t generation)
{
    return id | (uint64_t)generation << 48;
}

/* Empties the set. IDs that other threads add at the same time may be lost. */
void mp_seen_clear(uint64_t *set, size_t slots);

/* Returns the place of the ID, the empty place where it belongs, or NULL if all places are
 * taken. */
static inline uint64_t *mp_seen_place(uint64_t *set, size_t slots, uint64_t id)
{
    enum { NEAR = 64 };
    for (size_t i = 0; i < NEAR; i++) {
        uint64_t *at = &set[(id + i) % slots];
        const uint64_t value = __atomic_load_n(at, __ATOMIC_ACQUIRE);
        if (value == id || !value) return at;
    }
    return NULL;
}

static inline bool mp_seen(uint64_t *set, size_t slots, uint64_t id)
{
    const uint64_t *at = mp_seen_place(set, slots, id);
    return at && __atomic_load_n(at, __ATOMIC_ACQUIRE) == id;
}

static inline void mp_seen_add(uint64_t *set, size_t slots, uint64_t id)
{
    for (;;) {
        uint64_t *at = mp_seen_place(set, slots, id), none = 0;
        if (!at) __atomic_store_n(&set[id % slots], id, __ATOMIC_RELEASE);
        if (!at ||
            __atomic_compare_exchange_n(at, &none, id, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
            none == id)
            return;
    }
}

#endif
