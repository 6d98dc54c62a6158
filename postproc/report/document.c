#include "document.h"

#include "basename.h"
#include "heap_names.h"
#include "units.h"
#include "utf8.h"

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

struct mpr_value mpr_value_known_text(const char *text, enum mpr_state otherwise)
{
    return (struct mpr_value){ .type = MPR_TEXT,
                               .state = text && *text ? MPR_KNOWN : otherwise,
                               .text = text };
}

struct mpr_value mpr_value_known(enum mpr_type type, uint64_t number, uint64_t unknown)
{
    return number == unknown ? mpr_value_unknown : mpr_value_number(type, number);
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
    const struct mpr_table *view = mpr_table_view(doc, copy, only & MPR_FOR_PEOPLE);
    if (view) copy->only = only & ~(unsigned)MPR_FOR_PEOPLE;
    if (copy->only || !view) add(doc, MPR_TABLE)->table = copy;
    if (view) add(doc, MPR_TABLE)->table = view;
}

void mpr_doc_hide_after(struct mpr_document *doc, struct mpr_item *item)
{
    struct mpr_item **next = item ? &item->next : &doc->first;
    doc->last = item;
    doc->run = NULL;
    while (*next) {
        struct mpr_item *i = *next;
        const unsigned only = i->kind == MPR_TABLE ? i->table->only : 0;
        if (i->kind == MPR_LINE || (only && !(only & ~(unsigned)MPR_FOR_PEOPLE))) {
            *next = i->next;
            continue;
        }
        if (i->kind == MPR_TABLE) {
            struct mpr_table *table = mpr_arena_alloc(&doc->arena, sizeof *table);
            *table = *i->table;
            table->only = only ? only & ~(unsigned)MPR_FOR_PEOPLE : MPR_IN_JSON;
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

void mpr_doc_label(struct mpr_document *doc, enum mpr_tone tone, int indent, int width,
                   const char *word)
{
    mpr_doc_add(doc, tone, "%*s%-*s", indent, "", width, word);
    doc->last->label = word;
}

void mpr_doc_end(struct mpr_document *doc) { doc->run = NULL; }

void mpr_doc_end_wrapped(struct mpr_document *doc, int hang)
{
    if (doc->run) doc->last->hang = hang;
    mpr_doc_end(doc);
}

void mpr_doc_gap(struct mpr_document *doc) { add(doc, MPR_LINE); }

/* ---- words */

const char *mpr_doc_log_word(struct mpr_document *doc, const char *path)
{
    const char *name = mpr_basename(path);
    return mpr_shell_word(&doc->arena, doc->without_folders && *name ? name : path);
}

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
