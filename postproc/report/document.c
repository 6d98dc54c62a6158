#include "document.h"

#include "amount.h"
#include "heap_names.h"
#include "summary.h"
#include "table_view.h"
#include "units.h"

/* ---- values */

const struct mpr_value mpr_value_unknown = { .state = MPR_UNKNOWN },
                       mpr_value_absent = { .state = MPR_ABSENT };

struct mpr_value mpr_value_number(enum mpr_type type, uint64_t number)
{
    return (struct mpr_value){ .type = type, .number = number };
}

struct mpr_value mpr_value_amount(enum mpr_type type, int64_t amount)
{
    return (struct mpr_value){ .type = type, .amount = amount };
}

struct mpr_value mpr_value_about(uint64_t bytes, bool about)
{
    return (struct mpr_value){ .type = MPR_BYTES, .number = bytes, .about = about };
}

struct mpr_value mpr_value_text(const char *text)
{
    return (struct mpr_value){ .type = MPR_TEXT, .text = text };
}

struct mpr_value mpr_value_heap(uint8_t heap) { return mpr_value_text(mpr_heap_name(heap)); }

struct mpr_value mpr_value_path(struct mpr_path path)
{
    return (struct mpr_value){ .type = MPR_PATH, .path = path };
}

struct mpr_value mpr_value_shortened(struct mpr_path path, const char *caller)
{
    return (
        struct mpr_value){ .type = MPR_PATH, .path = path, .shortened = true, .caller = caller };
}

struct mpr_value mpr_value_title(const struct mpr_frame *const *title, size_t lead)
{
    struct mpr_value v = mpr_value_shortened(mpr_frame_alone(title), NULL);
    v.lead = lead;
    return v;
}

struct mpr_value mpr_value_texts(const char *const *texts, size_t count)
{
    return (struct mpr_value){ .type = MPR_TEXTS, .texts = texts, .count = count };
}

struct mpr_value mpr_value_numbers(const uint64_t *numbers, size_t count)
{
    return (struct mpr_value){ .type = MPR_NUMBERS, .numbers = numbers, .count = count };
}

struct mpr_value mpr_value_flag(bool flag) { return mpr_value_number(MPR_FLAG, flag); }

static bool is_none(const char *text) { return !text || !*text; }

struct mpr_value mpr_value_known_text(const char *text, enum mpr_state otherwise)
{
    return (struct mpr_value){ .type = MPR_TEXT,
                               .state = is_none(text) ? otherwise : MPR_KNOWN,
                               .text = text };
}

struct mpr_value mpr_value_known(enum mpr_type type, uint64_t number, uint64_t unknown)
{
    return number == unknown ? mpr_value_unknown : mpr_value_number(type, number);
}

/* ---- columns */

bool mpr_column_in(const struct mpr_column *c, enum mpr_format format)
{
    const char *name = format & MPR_FOR_PEOPLE ? c->title : c->key;
    return name && (!c->only || c->only & format);
}

bool mpr_column_sums(const struct mpr_column *c, enum mpr_format format)
{
    return c->sums && (!c->sums_in || c->sums_in & format) && mpr_column_in(c, format);
}

static struct mpr_value member(const struct mpr_column *c, const void *base)
{
    const void *at = (const char *)base + c->at;
    struct mpr_value v = { .type = c->type };
    switch (c->held) {
    case MPR_AS_U64: v.number = *(const uint64_t *)at; break;
    case MPR_AS_U32: v.number = *(const uint32_t *)at; break;
    case MPR_AS_I64: v.amount = *(const int64_t *)at; break;
    case MPR_AS_BOOL: v.number = *(const bool *)at; break;
    case MPR_AS_HEAP: v.text = mpr_heap_name(*(const uint8_t *)at); break;
    case MPR_AS_TEXT: v.text = *(const char *const *)at; break;
    case MPR_AS_TEXTS:
        v.texts = *(const char *const *const *)at;
        v.count = *(const size_t *)(const void *)((const char *)base + c->also);
        break;
    case MPR_AS_PATH: v.path = *(const struct mpr_path *)at; break;
    case MPR_AS_FRAME: return mpr_value_text((*(const struct mpr_frame *const *)at)->text);
    case MPR_AS_VARIANCE:
        v.number = mpr_variance_error(at);
        if (!v.number) v.state = MPR_ABSENT;
        break;
    case MPR_AS_SITE: /* mpr_table_line_value */
    case MPR_AS_SITE_CALLER:
    case MPR_AS_LINE_ERROR:
    case MPR_AS_LINE_NOTE: break;
    }
    return v;
}

static bool is_zero(const struct mpr_column *c, const struct mpr_value *v)
{
    if (c->held == MPR_AS_TEXT || c->held == MPR_AS_HEAP) return is_none(v->text);
    return c->held == MPR_AS_PATH ? !v->path.frame : !v->number;
}

static enum mpr_state state_of(const struct mpr_column *c, const struct mpr_value *v)
{
    switch (c->unless) {
    case MPR_UNKNOWN_AT_0: return is_zero(c, v) ? MPR_UNKNOWN : MPR_KNOWN;
    case MPR_UNKNOWN_AT_MAX: return v->number == UINT64_MAX ? MPR_UNKNOWN : MPR_KNOWN;
    case MPR_ABSENT_AT_0: return is_zero(c, v) ? MPR_ABSENT : MPR_KNOWN;
    case MPR_ABSENT_AT_MAX: return v->number == UINT64_MAX ? MPR_ABSENT : MPR_KNOWN;
    case MPR_OMITTED_AT_0:
    case MPR_ALWAYS: break;
    }
    return v->state;
}

static double percent_of(const struct mpr_column *c, const struct mpr_value *part, uint64_t whole)
{
    const double bytes = c->held == MPR_AS_I64 ? (double)part->amount : (double)part->number;
    return whole ? 100.0 * bytes / (double)whole : 0;
}

static struct mpr_value field(const struct mpr_table *t, const struct mpr_column *c,
                              const void *row)
{
    struct mpr_value v = member(c, c->of_log ? t->log : c->of_context ? t->context : row);
    v.state = state_of(c, &v);
    v.omitted = c->unless == MPR_OMITTED_AT_0 && is_zero(c, &v);
    if (c->words) v.text = c->words[v.number];
    else if (c->type == MPR_SHARE) v.percent = percent_of(c, &v, t->whole);
    return v;
}

struct mpr_value mpr_table_cell(const struct mpr_table *t, const struct mpr_column *c,
                                const void *row)
{
    struct mpr_value v;
    if (!mpr_table_line_value(t, c, row, &v))
        v = c->get ? c->get(row, t->context) : field(t, c, row);
    v.lasting = c->lasting;
    v.at_least |= (c->bound && t->bounds) || (c->estimate && mpr_table_at_least(t, row));
    return v;
}

/* ---- tables */

bool mpr_table_in(const struct mpr_table *t, enum mpr_format format)
{
    if (format == MPR_IN_JSON && !t->key && t->shape != MPR_FACTS) return false;
    return t->only ? (t->only & format) != 0 : format != MPR_IN_CSV;
}

const void *mpr_table_row(const struct mpr_table *t, size_t i, enum mpr_format format)
{
    return (const char *)t->row +
           (t->order && format & MPR_FOR_PEOPLE ? t->order[i] : i) * t->stride;
}

size_t mpr_table_shown(const struct mpr_table *t, size_t top, enum mpr_format format)
{
    const bool people = format & MPR_FOR_PEOPLE;
    const size_t rows = people ? t->rows - t->idle : t->rows;
    if (!top && people) {
        top = t->top ? t->top : MPR_TOP;
        top += rows == top + 1 && rows == t->rows;
    }
    return !top || t->all & format || rows < top ? rows : top;
}

static bool is_signed(enum mpr_type type) { return type == MPR_SIGNED || type == MPR_CHANGE; }

struct mpr_value mpr_table_sum(const struct mpr_table *t, const struct mpr_column *c, size_t from,
                               enum mpr_format format)
{
    struct mpr_value sum = { .type = c->type, .state = MPR_UNKNOWN };
    for (size_t i = from; i < t->rows; i++) {
        const struct mpr_value v = mpr_table_cell(t, c, mpr_table_row(t, i, format));
        if (v.state != MPR_KNOWN) continue;
        if (is_signed(c->type)) sum.amount = mpr_signed_add(sum.amount, v.amount);
        else sum.number += v.number;
        sum.state = MPR_KNOWN;
        sum.at_least |= v.at_least;
    }
    return sum;
}

/* ---- documents */

void mpr_doc_free(struct mpr_document *doc)
{
    mpr_arena_free(&doc->arena);
    *doc = (struct mpr_document){ 0 };
}

static struct mpr_item *add(struct mpr_document *doc, enum mpr_item_kind kind)
{
    struct mpr_item *item = mpr_arena_alloc(&doc->arena, sizeof *item);
    item->kind = kind;
    if (doc->last) doc->last->next = item;
    else doc->first = item;
    return doc->last = item;
}

static void begin(struct mpr_document *doc, const char *key, bool list)
{
    struct mpr_item *item = add(doc, MPR_OPEN);
    item->key = key;
    item->list = list;
    item->around = doc->open;
    doc->open = item;
}

void mpr_doc_open(struct mpr_document *doc, const char *key) { begin(doc, key, false); }

void mpr_doc_list(struct mpr_document *doc, const char *key) { begin(doc, key, true); }

void mpr_doc_close(struct mpr_document *doc)
{
    struct mpr_item *item = add(doc, MPR_CLOSE);
    if (!doc->open) return;
    item->key = doc->open->key;
    item->list = doc->open->list;
    doc->open = doc->open->around;
}

void mpr_doc_fact(struct mpr_document *doc, const char *key, struct mpr_value value)
{
    struct mpr_item *item = add(doc, MPR_FACT);
    item->key = key;
    item->value = value;
}

void mpr_doc_table(struct mpr_document *doc, const struct mpr_table *table)
{
    const unsigned only = table->only ? table->only : MPR_FOR_PEOPLE | MPR_IN_JSON;
    struct mpr_table *copy = mpr_arena_alloc(&doc->arena, sizeof *copy);
    *copy = *table;
    copy->doc = doc;
    if (!copy->context) copy->context = doc;
    copy->epoch = doc->epoch;
    copy->log = doc->log;
    if (table->shape == MPR_FACTS || !(only & MPR_FOR_PEOPLE) || !mpr_table_has_view(table)) {
        add(doc, MPR_TABLE)->table = copy;
        return;
    }
    copy->only = only & ~(unsigned)MPR_FOR_PEOPLE;
    if (copy->only) add(doc, MPR_TABLE)->table = copy;
    add(doc, MPR_TABLE)->table = mpr_table_view(doc, copy, only & MPR_FOR_PEOPLE);
}

static bool is_for_people_only(const struct mpr_item *item)
{
    return item->kind == MPR_LINE || (item->kind == MPR_TABLE && item->table->only &&
                                      !(item->table->only & ~(unsigned)MPR_FOR_PEOPLE));
}

void mpr_doc_hide_after(struct mpr_document *doc, struct mpr_item *item)
{
    struct mpr_item **next = item ? &item->next : &doc->first;
    doc->last = item;
    doc->run = NULL;
    while (*next) {
        struct mpr_item *i = *next;
        if (is_for_people_only(i)) {
            *next = i->next;
            continue;
        }
        if (i->kind == MPR_TABLE) {
            struct mpr_table *table = mpr_arena_alloc(&doc->arena, sizeof *table);
            *table = *i->table;
            table->only = table->only ? table->only & ~(unsigned)MPR_FOR_PEOPLE : MPR_IN_JSON;
            i->table = table;
        }
        doc->last = i;
        next = &i->next;
    }
}

/* ---- lines */

void mpr_doc_add(struct mpr_document *doc, enum mpr_tone tone, const char *format, ...)
{
    struct mpr_run *run = mpr_arena_alloc(&doc->arena, sizeof *run);
    va_list list;
    va_start(list, format);
    *run = (struct mpr_run){ NULL, tone, mpr_arena_vformat(&doc->arena, format, list) };
    va_end(list);
    if (doc->run) doc->run->next = run;
    else add(doc, MPR_LINE)->run = run;
    doc->run = run;
}

void mpr_doc_end(struct mpr_document *doc) { doc->run = NULL; }

void mpr_doc_end_wrapped(struct mpr_document *doc, int hang)
{
    if (doc->run) doc->last->hang = hang;
    mpr_doc_end(doc);
}

void mpr_doc_gap(struct mpr_document *doc) { add(doc, MPR_LINE); }

/* ---- words */

const char *mpr_doc_size(struct mpr_document *doc, uint64_t bytes)
{
    struct mpr_number n;
    return mpr_arena_text(&doc->arena, mpr_units_size(&n, bytes));
}

const char *mpr_doc_count(struct mpr_document *doc, uint64_t count)
{
    struct mpr_number n;
    return mpr_arena_text(&doc->arena, mpr_units_count(&n, count));
}

const char *mpr_doc_counted(struct mpr_document *doc, uint64_t count, const char *one,
                            const char *many)
{
    return mpr_arena_format(&doc->arena, "%s %s", mpr_doc_count(doc, count),
                            count == 1 ? one : many);
}

const char *mpr_doc_time(struct mpr_document *doc, uint64_t ns)
{
    return mpr_doc_instant(doc, ns, 1000000);
}

const char *mpr_doc_instant(struct mpr_document *doc, uint64_t ns, uint64_t width)
{
    struct mpr_number n;
    return mpr_arena_text(&doc->arena, mpr_units_clock(&n, doc->epoch, ns, width));
}

const char *mpr_doc_duration(struct mpr_document *doc, uint64_t ns)
{
    struct mpr_number n;
    return mpr_arena_text(&doc->arena, mpr_units_time(&n, ns));
}

void mpr_doc_set_epoch(struct mpr_document *doc, uint64_t start)
{
    doc->epoch = doc->clock ? start : 0;
}

const char *mpr_doc_path(struct mpr_document *doc, struct mpr_path path)
{
    return path.depth ? mpr_frame_path_text(&doc->arena, path)
                      : mpr_group_empty_path(MPR_GROUP_RANGE);
}
