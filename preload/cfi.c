#include "cfi.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static int (*find_object)(void *, struct dl_find_object *);

bool mp_cfi_init(void)
{
    find_object = (__typeof__(find_object))dlsym(RTLD_DEFAULT, "_dl_find_object");
    return find_object != NULL;
}

bool mp_cfi_object(uintptr_t pc, struct dl_find_object *out) { return find_object && find_object((void *)pc, out) == 0; }

/* ---- bytes: a reader that has come to its end reads zeros */

struct reader { const uint8_t *at, *end; };

static uint64_t fixed(struct reader *r, unsigned bytes)
{
    uint64_t v = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->at = r->end;
        return 0;
    }
    memcpy(&v, r->at, bytes);
    r->at += bytes;
    return v;
}

static uint64_t leb(struct reader *r, bool is_signed)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t b = 0;
    do {
        b = (uint8_t)fixed(r, 1);
        if (shift < 64) v |= (uint64_t)(b & 127) << shift;
        shift += 7;
    } while (b & 128);
    if (is_signed && b & 64 && shift < 64) v |= ~UINT64_C(0) << shift;
    return v;
}
static uint64_t uleb(struct reader *r) { return leb(r, false); }
static int64_t sleb(struct reader *r) { return (int64_t)leb(r, true); }

static void skip(struct reader *r, uint64_t bytes) { r->at += bytes < (size_t)(r->end - r->at) ? bytes : (size_t)(r->end - r->at); }

/* A record of .eh_frame begins with its length. */
static struct reader record_at(const uint8_t *at)
{
    uint32_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    if (bytes == UINT32_MAX) bytes = 0;     /* a length of 64 bits: nobody makes it */
    return (struct reader){ at + sizeof bytes, at + sizeof bytes + bytes };
}

/* ---- from an address to its record */

enum { PC_RELATIVE_4 = 0x1b, DATA_RELATIVE_4 = 0x3b, UNSIGNED_4 = 0x03 };   /* DW_EH_PE_... */

struct header { uint8_t version, frame_encoding, count_encoding, table_encoding; int32_t frame; uint32_t count; };
struct row { int32_t pc, record; };         /* from the header's address */

/* The record of the function that begins last before pc; NULL: none. */
static const uint8_t *find_record(const uint8_t *eh_frame_hdr, uintptr_t pc)
{
    struct header h;
    memcpy(&h, eh_frame_hdr, sizeof h);
    if (h.version != 1 || h.frame_encoding != PC_RELATIVE_4 || h.count_encoding != UNSIGNED_4 || h.table_encoding != DATA_RELATIVE_4) return NULL;
    const uint8_t *table = eh_frame_hdr + sizeof h;
    const int64_t want = (int64_t)(pc - (uintptr_t)eh_frame_hdr);
    uint32_t low = 0, high = h.count;
    struct row row = { 0 };
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        memcpy(&row, table + middle * sizeof row, sizeof row);
        if (row.pc <= want) low = middle + 1;
        else high = middle;
    }
    if (!low) return NULL;
    memcpy(&row, table + (low - 1) * sizeof row, sizeof row);
    return eh_frame_hdr + row.record;
}

/* What the functions of a CIE have in common. */
struct common { struct reader program; uint64_t code_factor; int64_t data_factor; bool augmented, signal, known; };

/* Personality and language data are for exceptions: passed over. */
static bool read_augmentation(struct reader *r, const char *text, struct common *c)
{
    for (; *text; text++) {
        switch (*text) {
        case 'R': if (fixed(r, 1) != PC_RELATIVE_4) return false; break;
        case 'L': fixed(r, 1); break;
        case 'P': skip(r, (fixed(r, 1) & 7) == 3 ? 4 : 8); break;       /* sdata4 (0x0b) and udata4 (0x03), else 8 bytes */
        case 'S': c->signal = true; break;
        default: return false;
        }
    }
    return true;
}

static struct common read_common(const uint8_t *at)
{
    struct reader r = record_at(at);
    struct common c = { 0 };
    if (fixed(&r, 4) != 0) return c;
    const uint64_t version = fixed(&r, 1);
    const char *text = (const char *)r.at;
    skip(&r, strnlen(text, (size_t)(r.end - r.at)) + 1);
    c.code_factor = uleb(&r);
    c.data_factor = sleb(&r);
    if (version == 1) fixed(&r, 1);
    else uleb(&r);
    c.known = true;
    if (*text == 'z') {
        c.augmented = true;
        struct reader data = { .at = NULL };
        const uint64_t bytes = uleb(&r);
        data.at = r.at;
        skip(&r, bytes);
        data.end = r.at;
        c.known = read_augmentation(&data, text + 1, &c);
    } else if (*text) c.known = false;
    c.program = r;
    return c;
}

/* ---- the program of a record: what it says from where on */

enum { REG_RBP = 6, REG_RSP = 7, REG_RETURN = 16, REMEMBERED = 8 };

struct state { struct mp_frame_rule rule; bool no_caller; };

enum { OP_BREG_RBP = 0x76, OP_DEREF = 0x06 };       /* DW_OP_breg6, DW_OP_deref */

/* An expression "what is stored at rbp + n", with or without the last step; false: another one. */
static bool read_at_rbp(struct reader *r, bool deref, int32_t *offset)
{
    const uint64_t bytes = uleb(r);
    struct reader e = *r;
    skip(r, bytes);
    e.end = r->at;
    if (fixed(&e, 1) != OP_BREG_RBP) return false;
    *offset = (int32_t)sleb(&e);
    if (deref && fixed(&e, 1) != OP_DEREF) return false;
    return e.at == e.end;
}

static void set_frame(struct state *s, uint64_t reg, int64_t offset)
{
    s->rule.kind = reg == REG_RSP ? MP_FRAME_RSP : reg == REG_RBP ? MP_FRAME_RBP : MP_FRAME_NONE;
    s->rule.frame = (int32_t)offset;
}

static void set_frame_register(struct state *s, uint64_t reg) { set_frame(s, reg, s->rule.frame); }

static void set_saved(struct state *s, uint64_t reg, int64_t offset)
{
    if (reg == REG_RETURN && offset != -8) s->rule.kind = MP_FRAME_NONE;
    if (reg != REG_RBP) return;
    s->rule.rbp_kind = MP_RBP_SAVED;
    s->rule.rbp = (int32_t)offset;
}

static void set_same(struct state *s, const struct state *first, uint64_t reg)
{
    if (reg == REG_RBP) {
        s->rule.rbp_kind = first->rule.rbp_kind;
        s->rule.rbp = first->rule.rbp;
    }
}

/* DW_CFA_...: the two high bits of a byte, or all of it. */
enum { ADVANCE = 1, OFFSET = 2, RESTORE = 3 };
enum { SET_LOC = 1, ADVANCE_1, ADVANCE_2, ADVANCE_4, OFFSET_EXTENDED, RESTORE_EXTENDED, UNDEFINED, SAME_VALUE, REGISTER, REMEMBER,
       RESTORE_STATE, DEF_CFA, DEF_CFA_REGISTER, DEF_CFA_OFFSET, DEF_CFA_EXPRESSION, EXPRESSION, OFFSET_EXTENDED_SF, DEF_CFA_SF,
       DEF_CFA_OFFSET_SF, VAL_OFFSET, VAL_OFFSET_SF, VAL_EXPRESSION, ARGS_SIZE = 0x2e };

/* Instructions that say where the frame is; false: not one of them. */
static bool step_frame(struct reader *r, unsigned op, const struct common *c, struct state *s)
{
    uint64_t reg;
    switch (op) {
    case DEF_CFA: reg = uleb(r); set_frame(s, reg, (int64_t)uleb(r)); return true;
    case DEF_CFA_SF: reg = uleb(r); set_frame(s, reg, sleb(r) * c->data_factor); return true;
    case DEF_CFA_REGISTER: set_frame_register(s, uleb(r)); return true;
    case DEF_CFA_OFFSET: s->rule.frame = (int32_t)uleb(r); return true;
    case DEF_CFA_OFFSET_SF: s->rule.frame = (int32_t)(sleb(r) * c->data_factor); return true;
    case DEF_CFA_EXPRESSION: s->rule.kind = read_at_rbp(r, true, &s->rule.frame) ? MP_FRAME_AT_RBP : MP_FRAME_NONE; return true;
    default: return false;
    }
}

/* Instructions that say where registers are; false: not one of them. */
static bool step_register(struct reader *r, unsigned op, const struct common *c, struct state *s, const struct state *first)
{
    const uint64_t reg = uleb(r);
    switch (op) {
    case OFFSET_EXTENDED: set_saved(s, reg, (int64_t)uleb(r) * c->data_factor); return true;
    case OFFSET_EXTENDED_SF: set_saved(s, reg, sleb(r) * c->data_factor); return true;
    case RESTORE_EXTENDED: set_same(s, first, reg); return true;
    case UNDEFINED: if (reg == REG_RETURN) s->no_caller = true; return true;
    case SAME_VALUE: if (reg == REG_RBP) s->rule.rbp_kind = MP_RBP_SAME; return true;
    case EXPRESSION: {
        int32_t offset;
        const bool simple = read_at_rbp(r, false, &offset);
        if (reg == REG_RETURN || (reg == REG_RBP && !simple)) s->rule.kind = MP_FRAME_NONE;
        if (reg != REG_RBP) return true;
        s->rule.rbp_kind = MP_RBP_AT_RBP;
        s->rule.rbp = offset;
        return true;
    }
    case REGISTER: case VAL_OFFSET: uleb(r); break;
    case VAL_OFFSET_SF: sleb(r); break;
    case VAL_EXPRESSION: skip(r, uleb(r)); break;
    default: return false;
    }
    if (reg == REG_RBP || reg == REG_RETURN) s->rule.kind = MP_FRAME_NONE;
    return true;
}

/* Runs the program up to the bytes of code `upto` from its function's start; false: an instruction that is not known. */
static bool run(struct reader r, const struct common *c, struct state *s, uint64_t upto)
{
    const struct state first = *s;
    struct state remembered[REMEMBERED];
    unsigned depth = 0;
    uint64_t at = 0;
    while (r.at < r.end) {
        const unsigned byte = (unsigned)fixed(&r, 1), low = byte & 63;
        uint64_t advance = 0;
        switch (byte >> 6) {
        case ADVANCE: advance = low; break;
        case OFFSET: set_saved(s, low, (int64_t)uleb(&r) * c->data_factor); continue;
        case RESTORE: set_same(s, &first, low); continue;
        default:
            if (byte == 0) continue;
            if (byte >= ADVANCE_1 && byte <= ADVANCE_4) advance = fixed(&r, 1u << (byte - ADVANCE_1));
            else if (byte == REMEMBER && depth < REMEMBERED) remembered[depth++] = *s;
            else if (byte == RESTORE_STATE && depth) *s = remembered[--depth];
            else if (byte == ARGS_SIZE) uleb(&r);
            else if (byte == SET_LOC || byte == REMEMBER || byte == RESTORE_STATE) return false;
            else if (!step_frame(&r, byte, c, s) && !step_register(&r, byte, c, s, &first)) return false;
        }
        at += advance * c->code_factor;
        if (at > upto) return true;
    }
    return true;
}

struct mp_frame_rule mp_cfi_rule(uintptr_t pc)
{
    const struct mp_frame_rule none = { .kind = MP_FRAME_NONE };
    struct dl_find_object object;
    if (!mp_cfi_object(pc, &object) || !object.dlfo_eh_frame) return none;
    const uint8_t *record = find_record(object.dlfo_eh_frame, pc);
    if (!record) return none;
    struct reader r = record_at(record);
    const uint8_t *here = r.at;
    const struct common c = read_common(here - (uint32_t)fixed(&r, 4));
    uintptr_t start = (uintptr_t)r.at;
    start += (uintptr_t)(int32_t)fixed(&r, 4);
    const uint64_t bytes = fixed(&r, 4);
    if (!c.known || pc - start >= bytes) return none;
    if (c.signal) return (struct mp_frame_rule){ .kind = MP_FRAME_SIGNAL };
    if (c.augmented) skip(&r, uleb(&r));
    struct state s = { .rule = { .kind = MP_FRAME_NONE } };
    if (!run(c.program, &c, &s, UINT64_MAX) || !run(r, &c, &s, pc - start)) return none;
    if (s.no_caller) s.rule.kind = MP_FRAME_END;
    return s.rule;
}
