#include "frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"

const struct mpr_frame mpr_frame_none = {
    .text = "", .name = "", .module = "", .path = "", .file = "", .object = ""
};

static const char *or_none(const char *text) { return text ? text : ""; }

/* ---- text */

const char *mpr_frame_function(struct mpr_arena *arena, const struct mpr_frame *f)
{
    return *f->module ? mpr_arena_format(arena, "%s [%s]", f->name, f->module) : f->name;
}

static bool has_place(const struct mpr_frame *f)
{
    return f->kind == MPR_FRAME_PYTHON || f->kind == MPR_FRAME_NATIVE;
}

const char *mpr_frame_place(struct mpr_arena *arena, const struct mpr_frame *f)
{
    if (!has_place(f)) return "";
    if (!*f->file) return f->object;
    return f->line == MPR_ANY_LINE ? f->file
                                   : mpr_arena_format(arena, "%s:%" PRIu64, f->file, f->line);
}

size_t mpr_frame_words(const struct mpr_frame *f, struct mpr_frame_word word[MPR_FRAME_WORDS])
{
    const struct mpr_frame_word module = { MPR_WORD_MODULE, f->module, "[", "]", MPR_ANY_LINE };
    size_t words = 0;
    if (f->text && !has_place(f)) {
        *word = (struct mpr_frame_word){ MPR_WORD_OTHER, f->text, "", "", MPR_ANY_LINE };
        return 1;
    }
    if (*f->module && f->module_first) word[words++] = module;
    if (f->is_backward)
        word[words++] =
            (struct mpr_frame_word){ MPR_WORD_OTHER, "backward of", "", "", MPR_ANY_LINE };
    word[words++] = (struct mpr_frame_word){ MPR_WORD_NAME, f->name, "", "", MPR_ANY_LINE };
    if (*f->module && !f->module_first) word[words++] = module;
    if (*f->file)
        word[words++] = (struct mpr_frame_word){ MPR_WORD_PLACE, f->file, "(", ")", f->line };
    else if (has_place(f) && *f->object)
        word[words++] =
            (struct mpr_frame_word){ MPR_WORD_OBJECT, f->object, "(", ")", MPR_ANY_LINE };
    return words;
}

/* ---- frames */

static struct mpr_frame *add_frame(struct mpr_arena *arena, const struct mpr_frame *fields)
{
    static uint64_t ids;
    struct mpr_frame *frame = mpr_arena_alloc(arena, sizeof *frame);
    *frame = *fields;
    frame->id = ++ids;
    return frame;
}

const struct mpr_frame *mpr_frame_new(struct mpr_arena *arena, struct mpr_frame fields)
{
    struct mpr_frame *frame = add_frame(arena, &fields);
    frame->name = or_none(fields.name);
    frame->module = or_none(fields.module);
    frame->path = or_none(fields.path);
    frame->file = or_none(fields.file);
    frame->object = or_none(fields.object);
    if (fields.text) return frame;
    struct mpr_frame_word word[MPR_FRAME_WORDS];
    const size_t words = mpr_frame_words(frame, word);
    const char *text = "";
    for (size_t i = 0; i < words; i++) {
        const struct mpr_frame_word *w = &word[i];
        const char *one = w->text;
        if (w->line != MPR_ANY_LINE)
            one =
                mpr_arena_format(arena, "%s%s:%" PRIu64 "%s", w->open, w->text, w->line, w->close);
        else if (*w->open) one = mpr_arena_format(arena, "%s%s%s", w->open, w->text, w->close);
        text = i ? mpr_arena_format(arena, "%s %s", text, one) : one;
    }
    frame->text = text;
    return frame;
}

const struct mpr_frame *mpr_frame_named(struct mpr_arena *arena, enum mpr_frame_kind kind,
                                        const char *name)
{
    return mpr_frame_new(arena, (struct mpr_frame){ .kind = kind, .name = name });
}

struct mpr_path mpr_frame_labels(struct mpr_arena *arena, const char *const *label, size_t labels)
{
    const struct mpr_frame **frame = mpr_arena_alloc(arena, labels * sizeof *frame);
    for (size_t i = 0; i < labels; i++)
        frame[i] = mpr_frame_named(arena, MPR_FRAME_LABEL, label[i]);
    return (struct mpr_path){ frame, labels };
}

const char *mpr_frame_numbered(const struct mpr_frame *frame)
{
    switch (frame->kind) {
    case MPR_FRAME_PYTHON: return frame->module;
    case MPR_FRAME_LABEL:
    case MPR_FRAME_RANGE: return frame->text;
    default: return "";
    }
}

const struct mpr_frame *mpr_frame_renumbered(struct mpr_arena *arena, const struct mpr_frame *frame,
                                             const char *text)
{
    struct mpr_frame fields = *frame;
    if (strcmp(frame->name, frame->text) == 0) fields.name = text;
    fields.text = text;
    if (frame->kind == MPR_FRAME_PYTHON) {
        fields.module = text;
        fields.text = NULL;
    }
    return mpr_frame_new(arena, fields);
}

/* ---- frames that are the same in other builds */

/* Returns "libfoo.so" for "libfoo.so.1.2". */
static const char *without_version(struct mpr_arena *arena, const char *object)
{
    const char *so = strstr(object, ".so.");
    return so ? mpr_arena_format(arena, "%.*s", (int)(so - object) + 3, object) : object;
}

/* Returns the name without the suffixes of functions that a compiler has copied or split. */
static const char *without_suffixes(struct mpr_arena *arena, const char *name)
{
    static const char *const added[] = { ".constprop.", ".isra.",     ".part.",
                                         ".cold",       ".lto_priv.", " [clone " };
    const char *first = NULL;
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        const char *at = strstr(name, added[i]);
        if (at && (!first || at < first)) first = at;
    }
    return first ? mpr_arena_format(arena, "%.*s", (int)(first - name), name) : name;
}

const struct mpr_frame *mpr_frame_stable(struct mpr_arena *arena, const char *program,
                                         const struct mpr_frame *frame)
{
    struct mpr_frame fields = *frame;
    const bool of_program = *program && strcmp(frame->object, program) == 0;
    switch (frame->kind) {
    case MPR_FRAME_LABEL: return mpr_frame_named(arena, MPR_FRAME_LABEL, frame->name);
    case MPR_FRAME_OBJECT:
        fields = (struct mpr_frame){ .kind = MPR_FRAME_OBJECT };
        fields.name = fields.object = without_version(arena, frame->object);
        return mpr_frame_new(arena, fields);
    case MPR_FRAME_PYTHON:
    case MPR_FRAME_NATIVE:
        fields.text = NULL;
        fields.line = MPR_ANY_LINE;
        if (frame->kind == MPR_FRAME_NATIVE) fields.name = without_suffixes(arena, frame->name);
        fields.object = of_program ? "" : without_version(arena, frame->object);
        return mpr_frame_new(arena, fields);
    default: return frame;
    }
}

const char *mpr_frame_stable_function(struct mpr_arena *arena, const struct mpr_frame *stable)
{
    struct mpr_frame fields = *stable;
    if (!*stable->file) return stable->text;
    fields.text = NULL;
    fields.file = fields.object = "";
    return mpr_frame_new(arena, fields)->text;
}

/* ---- paths */

struct mpr_path mpr_frame_copy_path(struct mpr_frame_copies *c, struct mpr_path path)
{
    const struct mpr_frame **in_path = mpr_arena_alloc(c->arena, path.depth * sizeof *in_path);
    for (size_t i = 0; i < path.depth; i++) {
        const struct mpr_frame *frame = path.frame[i];
        const uint32_t known = mpr_index_get(&c->by_id, frame->id);
        if (known) {
            in_path[i] = c->copy[known - 1];
            continue;
        }
        struct mpr_frame *copy = add_frame(c->arena, frame);
        copy->text = mpr_arena_text(c->arena, frame->text);
        copy->name =
            frame->name == frame->text ? copy->text : mpr_arena_text(c->arena, frame->name);
        copy->module = mpr_arena_text(c->arena, frame->module);
        copy->path = mpr_arena_text(c->arena, frame->path);
        copy->file = mpr_arena_text(c->arena, frame->file);
        copy->object = mpr_arena_text(c->arena, frame->object);
        in_path[i] = *MPR_ADD(c->copy, c->count, c->cap) = copy;
        mpr_index_set(&c->by_id, frame->id, c->count);
    }
    return (struct mpr_path){ in_path, path.depth };
}

void mpr_frame_copies_free(struct mpr_frame_copies *copies)
{
    mpr_index_free(&copies->by_id);
    free(copies->copy);
}

int mpr_frame_compare(const struct mpr_frame *a, const struct mpr_frame *b)
{
    return a == b || a->text == b->text ? 0 : strcmp(a->text, b->text);
}

int mpr_frame_compare_paths(struct mpr_path a, struct mpr_path b)
{
    for (size_t i = 0; i < a.depth && i < b.depth; i++) {
        const int order = mpr_frame_compare(a.frame[i], b.frame[i]);
        if (order) return order;
    }
    return mpr_compare(a.depth, b.depth);
}

const char *mpr_frame_path_text(struct mpr_arena *arena, struct mpr_path path)
{
    size_t bytes = 1;
    for (size_t i = 0; i < path.depth; i++) bytes += strlen(path.frame[i]->text) + strlen(" > ");
    char *text = mpr_arena_alloc(arena, bytes), *end = text;
    for (size_t i = 0; i < path.depth; i++)
        end = stpcpy(i ? stpcpy(end, " > ") : end, path.frame[i]->text);
    return text;
}

/* ---- patterns */

#define ARROW     " > "
#define ANY_OUTER "**" ARROW

/* The pattern after a star, and the text after that which the star has matched so far. */
struct star {
    const char *pattern, *text;
};

/* @path: a single star, `one`, matches no arrow */
static bool matches(const char *pattern, const char *text, bool path)
{
    struct star one = { NULL, NULL }, any = { NULL, NULL };
    while (*text) {
        if (*pattern == '*' && (!path || pattern[1] == '*')) {
            pattern += strspn(pattern, "*");
            any = (struct star){ pattern, text };
            one.pattern = NULL;
        } else if (*pattern == '*') {
            one = (struct star){ ++pattern, text };
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (one.pattern && strncmp(one.text, ARROW, strlen(ARROW)) != 0) {
            pattern = one.pattern;
            text = ++one.text;
        } else if (any.pattern) {
            pattern = any.pattern;
            text = ++any.text;
            one.pattern = NULL;
        } else return false;
    }
    return !pattern[strspn(pattern, "*")];
}

bool mpr_pattern_matches(const char *pattern, const char *text)
{
    return matches(pattern, text, false);
}

bool mpr_pattern_matches_path(const char *pattern, const char *path)
{
    if (matches(pattern, path, true)) return true;
    return strncmp(pattern, ANY_OUTER, strlen(ANY_OUTER)) == 0 &&
           matches(pattern + strlen(ANY_OUTER), path, true);
}
