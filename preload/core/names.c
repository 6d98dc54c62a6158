/* The intern table: open addressing, insert-only.
 *
 * Invariants: an entry never changes once `count` includes it. Its `slot` is written last, so
 * look-ups need no lock. `recorded` is set after the NAME or DOMAIN event is in the thread's chunk,
 * so no event uses a number before its definition. It is valid until a frame is lost. The lock and
 * `recorded` are wiped on fork, the rest is inherited: a fork in the middle of an insertion leaves
 * at worst an entry without a slot. */
#include "core/names.h"

#include <assert.h>
#include <string.h>

#include "base/sys.h"
#include "core/loss.h"
#include "core/record.h"

#define SLOTS (2 * MP_NAMES_MAX)
#define PAGE  65536 /* the largest page size */

struct entry {
    uint64_t hash;
    uint32_t text;
    uint16_t bytes;
    uint8_t op;       /* MPF_OP_NAME or MPF_OP_DOMAIN */
    uint16_t ordinal; /* of a domain */
};

struct wiped {
    struct mp_lock lock;
    uint32_t recorded[MP_NAMES_MAX]; /* 1 + mp_loss_now() from before it was recorded, or 0 */
};

/* Entries and texts are mapped in parts when they are needed. No text crosses the end of a part. */
enum { ENTRIES = 2048, TEXT_BYTES = 64 << 10 };

struct table {
    union {
        struct wiped wiped;
        char pages[(sizeof(struct wiped) + PAGE - 1) / PAGE * PAGE];
    };
    uint32_t count; /* entries; the first one has the id MP_NAME_FIRST */
    uint32_t text_bytes;
    uint16_t domains;
    void *entries[MP_NAMES_MAX / ENTRIES];
    void *text[MP_NAMES_BYTES / TEXT_BYTES];
    uint32_t slot[SLOTS]; /* 0 or an id */
};

struct key {
    const char *text;
    uint64_t hash;
    uint16_t bytes;
    uint8_t op;
};

static_assert(MP_NAME_BYTES <= UINT16_MAX, "fits entry.bytes");
static_assert(MP_NAMES_MAX - MP_NAME_FIRST <= UINT16_MAX, "fits entry.ordinal");

static void *the_table;

/* Returns the table, which is mapped at its first use, or NULL without memory. */
static struct table *table(void)
{
    struct table *t = __atomic_load_n(&the_table, __ATOMIC_ACQUIRE);
    if (t) return t;
    t = mp_sys_map_once(&the_table, sizeof *t, false);
    if (t) mp_sys_madvise(&t->wiped, offsetof(struct table, count), MADV_WIPEONFORK);
    return t;
}

static struct entry *entry_of(const struct table *t, uint32_t id)
{
    return (struct entry *)t->entries[id / ENTRIES] + id % ENTRIES;
}

static char *text_at(const struct table *t, uint32_t at)
{
    return (char *)t->text[at / TEXT_BYTES] + at % TEXT_BYTES;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 32;
}

static uint64_t hash(const char *text, size_t bytes, unsigned op)
{
    uint64_t h = mix(op, bytes);
    uint64_t word;
    for (; bytes >= sizeof word; text += sizeof word, bytes -= sizeof word) {
        memcpy(&word, text, sizeof word);
        h = mix(h, word);
    }
    word = 0;
    for (size_t i = 0; i < bytes; i++) word = word << 8 | (uint8_t)text[i];
    return mix(h, word);
}

/* Returns the length, at most MP_NAME_BYTES, without a partial character at the end. */
static uint16_t cut_length(const char *text, size_t bytes)
{
    if (bytes <= MP_NAME_BYTES) return (uint16_t)bytes;
    uint16_t n = MP_NAME_BYTES;
    while (n > MP_NAME_BYTES - 4 && ((uint8_t)text[n] & 0xc0) == 0x80) n--;
    return n;
}

static bool is_same(const struct table *t, uint32_t id, const struct key *k)
{
    const struct entry *e = entry_of(t, id);
    return e->hash == k->hash && e->bytes == k->bytes && e->op == k->op &&
           memcmp(text_at(t, e->text), k->text, k->bytes) == 0;
}

/* Returns the slot of the key, or the empty one where it belongs. Half of the slots are always
 * empty. */
static uint32_t *find(struct table *t, const struct key *k)
{
    for (size_t at = k->hash % SLOTS;; at = (at + 1) % SLOTS) {
        const uint32_t id = __atomic_load_n(&t->slot[at], __ATOMIC_ACQUIRE);
        if (!id || is_same(t, id, k)) return &t->slot[at];
    }
}

static bool is_recorded(const struct table *t, uint32_t id)
{
    return __atomic_load_n(&t->wiped.recorded[id], __ATOMIC_ACQUIRE) == mp_loss_now() + 1;
}

static uint32_t next_id(const struct table *t)
{
    return MP_NAME_FIRST + __atomic_load_n(&t->count, __ATOMIC_ACQUIRE);
}

/* Returns the place of a new text. */
static uint32_t next_text(const struct table *t, size_t bytes)
{
    const uint32_t at = __atomic_load_n(&t->text_bytes, __ATOMIC_RELAXED),
                   left = TEXT_BYTES - at % TEXT_BYTES;
    return bytes <= left ? at : at + left;
}

static bool has_room(const struct table *t, size_t bytes)
{
    const uint32_t text = next_text(t, bytes);
    return next_id(t) < MP_NAMES_MAX && text < MP_NAMES_BYTES && bytes <= MP_NAMES_BYTES - text;
}

/* Called with the lock held and after has_room. Returns 0 without memory. */
static uint32_t insert(struct table *t, const struct key *k)
{
    const uint32_t id = next_id(t), text = next_text(t, k->bytes);
    if (!mp_sys_map_once(&t->entries[id / ENTRIES], ENTRIES * sizeof(struct entry), false) ||
        !mp_sys_map_once(&t->text[text / TEXT_BYTES], TEXT_BYTES, false))
        return 0;
    const uint16_t ordinal = k->op == MPF_OP_DOMAIN ? ++t->domains : 0;
    *entry_of(t, id) = (struct entry){
        .hash = k->hash, .text = text, .bytes = k->bytes, .op = k->op, .ordinal = ordinal
    };
    memcpy(text_at(t, text), k->text, k->bytes);
    __atomic_store_n(&t->text_bytes, text + k->bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&t->count, t->count + 1, __ATOMIC_RELEASE);
    return id;
}

/* Called with the lock held. */
static void record(struct table *t, uint32_t id)
{
    if (is_recorded(t, id)) return;
    const struct entry *e = entry_of(t, id);
    const uint32_t now = mp_loss_now();
    mp_record_data(e->op, MPF_HEAP_NONE, id, text_at(t, e->text), e->bytes);
    __atomic_store_n(&t->wiped.recorded[id], now + 1, __ATOMIC_RELEASE);
}

static uint32_t lost_name(void)
{
    mp_loss(MPF_LOSS_NAMES, 1);
    return MP_NAME_OTHER;
}

/* This starts a forked child's log, including its names, so the lock must not be held. */
static bool may_record(void)
{
    const bool may = mp_record_here();
    if (!may) mp_record_left_out();
    return may;
}

static uint32_t intern(struct table *t, const struct key *k)
{
    if (!may_record()) return MP_NAME_BUSY;
    const uint64_t signals = mp_lock(&t->wiped.lock);
    uint32_t *slot = find(t, k);
    uint32_t id = *slot;
    if (!id && has_room(t, k->bytes)) id = insert(t, k);
    if (id) {
        record(t, id);
        __atomic_store_n(slot, id, __ATOMIC_RELEASE);
    }
    mp_unlock(&t->wiped.lock, signals);
    return id ? id : lost_name();
}

static uint32_t id_of(const char *text, size_t bytes, uint8_t op)
{
    struct table *t = table();
    if (!t) return lost_name();
    const uint16_t kept = cut_length(text, bytes);
    const struct key k = { text, hash(text, kept, op), kept, op };
    const uint32_t id = __atomic_load_n(find(t, &k), __ATOMIC_ACQUIRE);
    if (id && is_recorded(t, id)) return id;
    if (!id && !has_room(t, kept)) return lost_name();
    return intern(t, &k);
}

uint32_t mp_name_id(const char *text, size_t bytes) { return id_of(text, bytes, MPF_OP_NAME); }

uint32_t mp_domain_id(const char *text, size_t bytes)
{
    const uint32_t id = id_of(text, bytes, MPF_OP_DOMAIN);
    return id == MP_NAME_BUSY ? MP_NAME_OTHER : id;
}

static uint32_t checked_id(uint64_t id, uint8_t op)
{
    struct table *t = __atomic_load_n(&the_table, __ATOMIC_ACQUIRE);
    if (id == MP_NAME_OTHER) return MP_NAME_OTHER;
    if (!t || id < MP_NAME_FIRST || id >= next_id(t)) return MP_NAME_NONE;
    if (entry_of(t, (uint32_t)id)->op != op) return MP_NAME_NONE;
    if (!is_recorded(t, (uint32_t)id) && may_record()) {
        const uint64_t signals = mp_lock(&t->wiped.lock);
        record(t, (uint32_t)id);
        mp_unlock(&t->wiped.lock, signals);
    }
    return (uint32_t)id;
}

uint32_t mp_name_check(uint64_t id) { return checked_id(id, MPF_OP_NAME); }
uint32_t mp_domain_check(uint64_t id) { return checked_id(id, MPF_OP_DOMAIN); }
unsigned mp_domain_ordinal(uint32_t id)
{
    return id < MP_NAME_FIRST ? 0 : entry_of(the_table, id)->ordinal;
}

void mp_names_reset(void)
{
    struct table *t = the_table;
    if (t) mp_sys_wipe(&t->wiped, offsetof(struct table, count));
}
