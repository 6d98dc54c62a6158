/* Finds the rule of an address in the tables of its object file: a pure function of these bytes.
 * The launcher also uses it, to unwind the threads of a process that it attaches to. Addresses in
 * the tables are relative to the tables, so a copy of them serves as well. */
#include <stddef.h>
#include <string.h>

#include "stacks/cfi.h"
#include "stacks/registers.h"

/* ---- bytes: a reader at its end reads zeros */

struct reader {
    const uint8_t *at, *end;
};

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

static void skip(struct reader *r, uint64_t bytes)
{
    r->at += bytes < (size_t)(r->end - r->at) ? bytes : (size_t)(r->end - r->at);
}

/* Returns the bytes of the tables from an address on, or 0 if it is outside of them. */
static size_t room_at(const struct mp_cfi_tables *t, uintptr_t at)
{
    const uintptr_t from = (uintptr_t)t->from, bytes = (uintptr_t)(t->to - t->from);
    return at - from < bytes ? bytes - (at - from) : 0;
}

/* A record of .eh_frame begins with its length. A record that is not completely in the tables is
 * empty, as is one with a 64-bit length, which no compiler emits. */
static struct reader record_at(const struct mp_cfi_tables *t, uintptr_t at)
{
    const size_t room = room_at(t, at);
    uint32_t bytes = 0;
    if (room < sizeof bytes) return (struct reader){ t->to, t->to };
    const uint8_t *record = t->from + (at - (uintptr_t)t->from);
    memcpy(&bytes, record, sizeof bytes);
    if (bytes > room - sizeof bytes) bytes = 0;
    return (struct reader){ record + sizeof bytes, record + sizeof bytes + bytes };
}

/* ---- from an address to its record */

enum { PC_RELATIVE_4 = 0x1b, DATA_RELATIVE_4 = 0x3b, UNSIGNED_4 = 0x03 }; /* DW_EH_PE_... */

struct header {
    uint8_t version, frame_encoding, count_encoding, table_encoding;
    int32_t frame;
    uint32_t count;
};
/* Relative to the header's address. */
struct row {
    int32_t pc, record;
};

/* Returns the record of the last function that begins at or before pc, or 0. */
static uintptr_t find_record(const struct mp_cfi_tables *t, uintptr_t pc)
{
    struct header h;
    const size_t room = room_at(t, (uintptr_t)t->header);
    if (room < sizeof h) return 0;
    memcpy(&h, t->header, sizeof h);
    if (h.version != 1 || h.frame_encoding != PC_RELATIVE_4 || h.count_encoding != UNSIGNED_4 ||
        h.table_encoding != DATA_RELATIVE_4)
        return 0;
    if (h.count > (room - sizeof h) / sizeof(struct row)) return 0;
    const uint8_t *table = t->header + sizeof h;
    const int64_t want = (int64_t)(pc - (uintptr_t)t->header);
    uint32_t low = 0, high = h.count;
    struct row row = { 0 };
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        memcpy(&row, table + middle * sizeof row, sizeof row);
        if (row.pc <= want) low = middle + 1;
        else high = middle;
    }
    if (!low) return 0;
    memcpy(&row, table + (low - 1) * sizeof row, sizeof row);
    return (uintptr_t)t->header + (uintptr_t)(intptr_t)row.record;
}

/* The part that all functions of a CIE share. */
struct common {
    struct reader program;
    uint64_t code_factor;
    int64_t data_factor;
    bool augmented, signal, known;
};

/* Personality and language data are only for exceptions, so they are skipped. */
static bool read_augmentation(struct reader *r, const char *text, struct common *c)
{
    for (; *text; text++) {
        switch (*text) {
        case 'R':
            if (fixed(r, 1) != PC_RELATIVE_4) return false;
            break;
        case 'L': fixed(r, 1); break;
        case 'P':
            skip(r, (fixed(r, 1) & 7) == 3 ? 4 : 8);
            break; /* 4 bytes for sdata4 (0x0b) and udata4 (0x03), otherwise 8 */
        case 'S': c->signal = true; break;
        default:
            if (!strchr(MP_AUGMENTATIONS, *text)) return false;
        }
    }
    return true;
}

static struct common read_common(const struct mp_cfi_tables *t, uintptr_t at)
{
    struct reader r = record_at(t, at);
    struct common c = { 0 };
    if (fixed(&r, 4) != 0) return c;
    const uint64_t version = fixed(&r, 1);
    const char *text = (const char *)r.at;
    const size_t length = strnlen(text, (size_t)(r.end - r.at));
    if (length == (size_t)(r.end - r.at)) return c; /* it has no end */
    skip(&r, length + 1);
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

/* ---- the instructions of a record: rules from an address on */

enum { REMEMBERED = 8 };

struct state {
    struct mp_frame_rule rule;
    bool no_caller, return_saved;
    int64_t return_at; /* offset from the frame's address, if it is saved */
};

static int64_t factored(int64_t n, const struct common *c)
{
    return (int64_t)((uint64_t)n * (uint64_t)c->data_factor);
}

enum { OP_BREG_FP = 0x70 + MP_REG_FP, OP_DEREF = 0x06 }; /* DW_OP_breg0 + n, DW_OP_deref */

/* Reads an expression "the value stored at fp + n", or "fp + n" without the last step. Returns
 * false for other expressions. */
static bool read_at_fp(struct reader *r, bool deref, int32_t *offset)
{
    const uint64_t bytes = uleb(r);
    struct reader e = *r;
    skip(r, bytes);
    e.end = r->at;
    if (fixed(&e, 1) != OP_BREG_FP) return false;
    *offset = (int32_t)sleb(&e);
    if (deref && fixed(&e, 1) != OP_DEREF) return false;
    return e.at == e.end;
}

static void set_frame(struct state *s, uint64_t reg, int64_t offset)
{
    s->rule.kind = reg == MP_REG_SP ? MP_FRAME_SP : reg == MP_REG_FP ? MP_FRAME_FP : MP_FRAME_NONE;
    s->rule.frame = (int32_t)offset;
}

static void set_frame_register(struct state *s, uint64_t reg) { set_frame(s, reg, s->rule.frame); }

static void set_saved(struct state *s, uint64_t reg, int64_t offset)
{
    if (reg == MP_REG_RETURN) {
        s->return_saved = true;
        s->return_at = offset;
    }
    if (reg != MP_REG_FP) return;
    s->rule.fp_kind = MP_FP_SAVED;
    s->rule.fp = (int32_t)offset;
}

static void set_same(struct state *s, const struct state *first, uint64_t reg)
{
    if (reg == MP_REG_FP) {
        s->rule.fp_kind = first->rule.fp_kind;
        s->rule.fp = first->rule.fp;
    }
    if (reg == MP_REG_RETURN) {
        s->return_saved = first->return_saved;
        s->return_at = first->return_at;
    }
}

/* Finds the return address in the few places where it can be: compilers that save fp save both next
 * to each other. */
static void find_return(struct state *s)
{
    struct mp_frame_rule *r = &s->rule;
    const bool behind_fp = r->fp_kind == MP_FP_SAVED && s->return_at == (int64_t)r->fp + 8;
    if (MP_RETURN_IS_BELOW) {
        if (s->return_saved && s->return_at != -8) r->kind = MP_FRAME_NONE;
    } else if (!s->return_saved) r->return_kind = MP_RETURN_IN_REGISTER;
    else if (behind_fp) r->return_kind = MP_RETURN_BEHIND_FP;
    else if (r->fp_kind == MP_FP_SAME) {
        r->return_kind = MP_RETURN_AT_FP;
        r->fp = (int32_t)s->return_at;
    } else r->kind = MP_FRAME_NONE;
}

/* DW_CFA_...: the two high bits of a byte, or the whole byte. */
enum { ADVANCE = 1, OFFSET = 2, RESTORE = 3 };
enum {
    SET_LOC = 1,
    ADVANCE_1,
    ADVANCE_2,
    ADVANCE_4,
    OFFSET_EXTENDED,
    RESTORE_EXTENDED,
    UNDEFINED,
    SAME_VALUE,
    REGISTER,
    REMEMBER,
    RESTORE_STATE,
    DEF_CFA,
    DEF_CFA_REGISTER,
    DEF_CFA_OFFSET,
    DEF_CFA_EXPRESSION,
    EXPRESSION,
    OFFSET_EXTENDED_SF,
    DEF_CFA_SF,
    DEF_CFA_OFFSET_SF,
    VAL_OFFSET,
    VAL_OFFSET_SF,
    VAL_EXPRESSION,
    ARGS_SIZE = 0x2e
};

/* Runs an instruction about the place of the frame. Returns false for other instructions. */
static bool step_frame(struct reader *r, unsigned op, const struct common *c, struct state *s)
{
    uint64_t reg;
    switch (op) {
    case DEF_CFA:
        reg = uleb(r);
        set_frame(s, reg, (int64_t)uleb(r));
        return true;
    case DEF_CFA_SF:
        reg = uleb(r);
        set_frame(s, reg, factored(sleb(r), c));
        return true;
    case DEF_CFA_REGISTER: set_frame_register(s, uleb(r)); return true;
    case DEF_CFA_OFFSET: s->rule.frame = (int32_t)uleb(r); return true;
    case DEF_CFA_OFFSET_SF: s->rule.frame = (int32_t)(factored(sleb(r), c)); return true;
    case DEF_CFA_EXPRESSION:
        s->rule.kind = read_at_fp(r, true, &s->rule.frame) ? MP_FRAME_AT_FP : MP_FRAME_NONE;
        return true;
    default: return false;
    }
}

/* Runs an instruction about the place of a register. Returns false for other instructions. */
static bool step_register(struct reader *r, unsigned op, const struct common *c, struct state *s,
                          const struct state *first)
{
    const uint64_t reg = uleb(r);
    switch (op) {
    case OFFSET_EXTENDED: set_saved(s, reg, factored((int64_t)uleb(r), c)); return true;
    case OFFSET_EXTENDED_SF: set_saved(s, reg, factored(sleb(r), c)); return true;
    case RESTORE_EXTENDED: set_same(s, first, reg); return true;
    case UNDEFINED:
        if (reg == MP_REG_RETURN) s->no_caller = true;
        return true;
    case SAME_VALUE:
        if (reg == MP_REG_FP) s->rule.fp_kind = MP_FP_SAME;
        if (reg == MP_REG_RETURN) s->return_saved = false;
        return true;
    case EXPRESSION: {
        int32_t offset;
        const bool simple = read_at_fp(r, false, &offset);
        if (reg == MP_REG_RETURN || (reg == MP_REG_FP && !simple)) s->rule.kind = MP_FRAME_NONE;
        if (reg != MP_REG_FP) return true;
        s->rule.fp_kind = MP_FP_AT_FP;
        s->rule.fp = offset;
        return true;
    }
    case REGISTER:
    case VAL_OFFSET: uleb(r); break;
    case VAL_OFFSET_SF: sleb(r); break;
    case VAL_EXPRESSION: skip(r, uleb(r)); break;
    default: return false;
    }
    if (reg == MP_REG_FP || reg == MP_REG_RETURN) s->rule.kind = MP_FRAME_NONE;
    return true;
}

/* Runs the instructions up to `upto` bytes of code after the function's start. Returns false for an
 * unknown instruction. */
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
        case OFFSET: set_saved(s, low, factored((int64_t)uleb(&r), c)); continue;
        case RESTORE: set_same(s, &first, low); continue;
        default:
            if (byte == 0 || (int)byte == MP_CFA_SIGNED) continue;
            if (byte >= ADVANCE_1 && byte <= ADVANCE_4)
                advance = fixed(&r, 1u << (byte - ADVANCE_1));
            else if (byte == REMEMBER && depth < REMEMBERED) remembered[depth++] = *s;
            else if (byte == RESTORE_STATE && depth) *s = remembered[--depth];
            else if (byte == ARGS_SIZE) uleb(&r);
            else if (byte == SET_LOC || byte == REMEMBER || byte == RESTORE_STATE) return false;
            else if (!step_frame(&r, byte, c, s) && !step_register(&r, byte, c, s, &first))
                return false;
        }
        at += advance * c->code_factor;
        if (at > upto) return true;
    }
    return true;
}

struct mp_frame_rule mp_cfi_rule_in(const struct mp_cfi_tables *t, uintptr_t pc)
{
    const struct mp_frame_rule none = { .kind = MP_FRAME_NONE },
                               unknown = { .kind = MP_FRAME_UNKNOWN };
    const uintptr_t record = find_record(t, pc);
    if (!record) return unknown;
    struct reader r = record_at(t, record);
    const uintptr_t here = (uintptr_t)r.at;
    const struct common c = read_common(t, here - (uint32_t)fixed(&r, 4));
    uintptr_t start = (uintptr_t)r.at;
    start += (uintptr_t)(intptr_t)(int32_t)fixed(&r, 4);
    const uint64_t bytes = fixed(&r, 4);
    if (pc - start >= bytes) return unknown;
    if (!c.known) return none;
    if (c.signal) return (struct mp_frame_rule){ .kind = MP_FRAME_SIGNAL };
    if (c.augmented) skip(&r, uleb(&r));
    struct state s = { .rule = { .kind = MP_FRAME_NONE } };
    if (!run(c.program, &c, &s, UINT64_MAX) || !run(r, &c, &s, pc - start)) return none;
    find_return(&s);
    if (s.no_caller) s.rule.kind = MP_FRAME_END;
    return s.rule;
}
