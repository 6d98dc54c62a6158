#include "user_frame.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "allocator_names.h"
#include "basename.h"
#include "index.h"
#include "pattern.h"

enum kind {
    KIND_UNKNOWN,
    KIND_OWN,
    KIND_PACKAGE, /* an installed package */
    KIND_LIBRARY,
    KIND_HIDDEN,
    KIND_ALLOCATOR,
    KIND_NAMELESS
};

struct pattern {
    enum kind kind;
    const char *text, *name;
};

static const struct pattern listed[] = {
#define ALLOCATOR(pattern)     { KIND_ALLOCATOR, pattern, "" },
#define HIDE(pattern)          { KIND_HIDDEN, pattern, "" },
#define LIBRARY(pattern, name) { KIND_LIBRARY, pattern, name },
#include "hidden_frames.def"
};

static const struct pattern allocator = { KIND_ALLOCATOR, "", "" };

/* The kind of a frame, determined once. */
struct frame_class {
    const struct pattern *pattern;
    enum kind kind;
};

struct mpr_user_frames {
    struct pattern *own;
    size_t owns, own_cap;
    struct frame_class *class;
    uint32_t count, cap;
    struct mpr_index number; /* by frame: place + 1 */
};

struct mpr_user_frames *mpr_user_frames_new(void)
{
    return mpr_alloc(1, sizeof(struct mpr_user_frames));
}

void mpr_user_frames_free(struct mpr_user_frames *t)
{
    mpr_index_free(&t->number);
    free(t->own);
    free(t->class);
    free(t);
}

void mpr_user_frames_hide(struct mpr_user_frames *t, const char *pattern)
{
    MPR_GROW(t->own, t->owns, t->own_cap);
    t->own[t->owns++] = (struct pattern){ KIND_HIDDEN, pattern, "" };
}

/* Returns the innermost frame of a module, or `depth`. */
static size_t module_frame(struct mpr_path path)
{
    for (size_t i = path.depth; i-- > 0;)
        if (*path.frame[i]->module) return i;
    return path.depth;
}

const struct mpr_frame *mpr_frame_module(struct mpr_path path)
{
    const size_t i = module_frame(path);
    return i < path.depth ? path.frame[i] : NULL;
}

/* ---- C++ names */

static bool follows_operator(const char *name, const char *at)
{
    return at - name >= 8 && strncmp(at - 8, "operator", 8) == 0;
}

/* Not the signs of "operator<", "operator->" and the like.  After "operator+", "operator()" and
 * "operator<< ", with the demangler's blank, template arguments may follow.  No sign is longer than
 * "<=>". */
static bool opens_template(const char *name, const char *at)
{
    if (*at != '<' || at == name) return false;
    if (isalnum((unsigned char)at[-1]) || at[-1] == '_') return !follows_operator(name, at);
    const char *end = at > name + 1 && at[-1] == ' ' && at[-2] == '<' ? at - 1 : at, *sign = end;
    while (sign > name && end - sign < 3 && strchr("+-*/%^&|~!=<>,[]()", sign[-1])) sign--;
    return sign < end && follows_operator(name, sign) && (end < at || at[-1] != '<');
}

/* Returns the text after the matching '>', or NULL. */
static const char *template_end(const char *at, const char *end)
{
    int depth = 0;
    for (; at < end; at++) {
        if (*at == '<') depth++;
        if (*at == '>' && at[-1] != '-' && --depth == 0) return at + 1;
    }
    return NULL;
}

/* Replaces template arguments longer than `keep` bytes by `instead`, which is no longer.  It stops
 * at the first '<' without an end, so that the end is searched only once. */
static const char *without_arguments(struct mpr_arena *arena, const char *name, size_t keep,
                                     const char *instead)
{
    const size_t length = strlen(name);
    const char *const end = name + length, *from = name;
    char *const text = mpr_arena_alloc(arena, length + 1), *out = text;
    for (const char *at = name; at < end; at++) {
        if (!opens_template(name, at)) continue;
        const char *to = template_end(at, end);
        if (!to) break;
        if ((size_t)(to - at) <= keep + 2) continue;
        out = stpcpy(mempcpy(out, from, (size_t)(at - from)), instead);
        from = at = to;
        at--;
    }
    out = mempcpy(out, from, (size_t)(end - from));
    *out = 0;
    return text;
}

/* "void f<..> " is shown as "f<..> ": a template's name begins with its return type. */
static const char *without_result(const char *name)
{
    const char *from = name, *sign = strstr(name, "operator"),
               *end = sign ? sign : name + strlen(name);
    int depth = 0;
    if (strcspn(name, "([{") < (size_t)(end - name)) return name;
    for (const char *at = name; at < end; at++) {
        if (*at == '<') depth++;
        if (*at == '>' && depth) depth--;
        if (*at == ' ' && !depth && at[1]) from = at + 1;
    }
    return from;
}

static const char *short_name(struct mpr_arena *arena, const struct mpr_frame *frame)
{
    enum { KEEP = 12 };
    if (frame->kind != MPR_FRAME_NATIVE || !strchr(frame->name, '<')) return frame->name;
    return without_result(without_arguments(arena, frame->name, KEEP, "<..>"));
}

const struct mpr_frame *mpr_frame_short(struct mpr_arena *arena, const struct mpr_frame *frame)
{
    struct mpr_frame fields = *frame;
    fields.name = short_name(arena, frame);
    fields.text = NULL;
    return fields.name == frame->name ? frame : mpr_frame_new(arena, fields);
}

/* ---- the kind of a frame */

/* The texts that patterns match: the function, and the function with its file, without folders and
 * as the frame has it. */
struct frame_texts {
    const char *function, *whole, *path;
};

static struct frame_texts texts_of(struct mpr_arena *arena, const struct mpr_frame *frame)
{
    const bool nameless = frame->kind == MPR_FRAME_ADDRESS;
    const char *function = nameless ? "?"
                           : mpr_frame_is_native(frame)
                               ? without_arguments(arena, frame->name, 0, "")
                               : frame->name,
               *place = nameless ? frame->object : mpr_frame_place(arena, frame);
    if (!*place) return (struct frame_texts){ function, function, function };
    return (struct frame_texts){ function,
                                 mpr_arena_format(arena, "%s (%s)", function, mpr_basename(place)),
                                 mpr_arena_format(arena, "%s (%s)", function, place) };
}

static const struct pattern *find(const struct pattern *list, size_t count,
                                  struct frame_texts texts)
{
    for (const struct pattern *p = list; p < list + count; p++) {
        const char *text = !strchr(p->text, '(')  ? texts.function
                           : strchr(p->text, '/') ? texts.path
                                                  : texts.whole;
        if (mpr_pattern_matches(p->text, text)) return p;
    }
    return NULL;
}

static struct frame_class classify(const struct mpr_user_frames *t, const struct mpr_frame *frame)
{
    struct mpr_arena scratch = { 0 };
    const struct frame_texts texts = texts_of(&scratch, frame);
    struct frame_class f = { find(t->own, t->owns, texts), KIND_OWN };
    if (!f.pattern && mpr_frame_is_native(frame) && mpr_is_allocator(texts.function))
        f.pattern = &allocator;
    if (!f.pattern) f.pattern = find(listed, sizeof listed / sizeof *listed, texts);
    if (f.pattern) f.kind = f.pattern->kind;
    else if (frame->kind == MPR_FRAME_PYTHON && strchr(frame->file, '/'))
        f.kind = KIND_PACKAGE; /* the program's own code has no folder (python_file.h in replay) */
    else if (frame->kind == MPR_FRAME_ADDRESS) f.kind = KIND_NAMELESS;
    mpr_arena_free(&scratch);
    return f;
}

static const struct frame_class *class_of(struct mpr_user_frames *t, const struct mpr_frame *frame)
{
    const uint32_t at = mpr_index_get(&t->number, frame->id);
    if (at) return &t->class[at - 1];
    const struct frame_class found = classify(t, frame);
    MPR_GROW(t->class, t->count, t->cap);
    t->class[t->count++] = found;
    mpr_index_set(&t->number, frame->id, t->count);
    return &t->class[t->count - 1];
}

static enum kind kind_of(struct mpr_user_frames *t, const struct mpr_frame *frame)
{
    return class_of(t, frame)->kind;
}

/* ---- a stack: frame `depth` - 1 is the innermost */

struct stack {
    struct mpr_user_frames *t;
    const struct mpr_frame *const *at;
    size_t depth;
};

/* Returns the number of frames without those that an allocator called. */
static size_t without_allocator(struct mpr_user_frames *t, struct mpr_path path)
{
    for (size_t i = 0; i < path.depth; i++)
        if (kind_of(t, path.frame[i]) == KIND_ALLOCATOR) return i + 1;
    return path.depth;
}

const struct mpr_frame *mpr_user_frames_allocator(struct mpr_user_frames *t, struct mpr_path path)
{
    const size_t kept = without_allocator(t, path);
    const struct mpr_frame *last = kept ? path.frame[kept - 1] : NULL;
    return last && kind_of(t, last) == KIND_ALLOCATOR ? last : NULL;
}

/* Returns the innermost frame of a kind, or `depth`. */
static size_t innermost(const struct stack *s, enum kind a, enum kind b)
{
    for (size_t i = s->depth; i-- > 0;) {
        const enum kind kind = kind_of(s->t, s->at[i]);
        if (kind == a || kind == b) return i;
    }
    return s->depth;
}

/* Returns the user_frames frame: the innermost one of the program, else of a package, else of a
 * library, else the innermost frame. */
static size_t user_frame(const struct stack *s)
{
    size_t i = innermost(s, KIND_OWN, KIND_NAMELESS);
    if (i < s->depth) {
        /* A call without a name is replaced by the next outer call with one, if that is in the same
         * object file and has no source. */
        size_t up = i;
        while (up > 0 && kind_of(s->t, s->at[up]) == KIND_NAMELESS) up--;
        const struct mpr_frame *outer = s->at[up], *frame = s->at[i];
        const bool same_object =
            !*outer->file && *frame->object && strcmp(outer->object, frame->object) == 0;
        return kind_of(s->t, outer) == KIND_OWN && same_object ? up : i;
    }
    i = innermost(s, KIND_PACKAGE, KIND_PACKAGE);
    if (i < s->depth) return i;
    i = innermost(s, KIND_LIBRARY, KIND_LIBRARY);
    return i < s->depth ? i : s->depth - 1;
}

static bool is_library(const struct stack *s, size_t i)
{
    return kind_of(s->t, s->at[i]) == KIND_LIBRARY || kind_of(s->t, s->at[i]) == KIND_PACKAGE;
}

/* Returns the outermost library frame that frame `from` called, or `depth`. */
static size_t library_call(const struct stack *s, size_t from)
{
    size_t i = from + 1;
    while (i < s->depth && !is_library(s, i)) i++;
    return i;
}

/* Returns the library function that the user_frames frame called, or the innermost module's call
 * with the module's path; "" if there is neither. */
static const char *callee_name(const struct stack *s, size_t from)
{
    const size_t module = module_frame((struct mpr_path){ s->at, s->depth });
    size_t i = s->depth;
    if (module < s->depth && module > from) {
        i = library_call(s, module);
        if (i == s->depth && is_library(s, module)) i = module;
    }
    if (i == s->depth) i = library_call(s, from);
    if (i == s->depth) return "";
    const struct frame_class *f = class_of(s->t, s->at[i]);
    return f->pattern && *f->pattern->name ? f->pattern->name : s->at[i]->name;
}

/* Returns true if it is the same function, or one inside it: "f.<locals>.<listcomp>" of f. */
static bool is_within(const char *name, const char *of)
{
    const size_t bytes = strlen(of);
    if (strncmp(name, of, bytes) != 0) return false;
    return !name[bytes] || strncmp(name + bytes, ".<locals>", 9) == 0;
}

/* Returns the next outer function of the program, or "" if that is the body of a Python module,
 * which calls everything. */
static const char *caller_name(const struct stack *s, struct mpr_arena *arena, size_t of)
{
    const bool package = kind_of(s->t, s->at[of]) == KIND_PACKAGE;
    for (size_t i = of; i-- > 0;) {
        const struct mpr_frame *frame = s->at[i];
        const enum kind kind = kind_of(s->t, frame);
        if (kind != KIND_OWN && !(package && kind == KIND_PACKAGE)) continue;
        if (is_within(s->at[of]->name, frame->name)) continue;
        return strcmp(frame->name, "<module>") == 0 ? "" : short_name(arena, frame);
    }
    return "";
}

/* Returns the user_frames frame; before a Python one is the path of the innermost module. */
static const struct mpr_frame *summary_frame(const struct stack *s, struct mpr_arena *arena,
                                             size_t at)
{
    struct mpr_frame fields = *s->at[at];
    const size_t module = module_frame((struct mpr_path){ s->at, s->depth });
    if (fields.kind != MPR_FRAME_PYTHON) return mpr_frame_short(arena, s->at[at]);
    if (module == s->depth) return s->at[at];
    fields.module = s->at[module]->module;
    fields.module_first = true;
    fields.text = NULL;
    return mpr_frame_new(arena, fields);
}

/* ---- paths */

/* After an operator's calls follows the range of its backward pass, "torch:MmBackward0". Returns
 * the index of that range, or the depth if the path has no such range. */
static size_t calls_end(struct mpr_path path, size_t from)
{
    size_t end = path.depth;
    if (from == end || !path.frame[from]->is_backward) return end;
    while (end > from && path.frame[end - 1]->kind != MPR_FRAME_PYTHON) end--;
    return end > from ? end : path.depth;
}

struct mpr_path mpr_frame_summary_path(struct mpr_arena *arena,
                                       const struct mpr_frame_summary *told)
{
    const struct mpr_path path = told->path;
    if (!*told->caller || !path.depth) return path;
    const struct mpr_frame **frame = mpr_arena_alloc(arena, path.depth * sizeof *frame);
    memcpy(frame, path.frame, path.depth * sizeof *frame);
    frame[path.depth - 1] = mpr_frame_called_by(arena, frame[path.depth - 1], told->caller);
    return (struct mpr_path){ frame, path.depth };
}

struct mpr_frame_summary mpr_user_frames_summary(struct mpr_user_frames *t, struct mpr_arena *arena,
                                                 struct mpr_path path, bool calls)
{
    if (path.depth > 1 && path.frame[0]->kind == MPR_FRAME_CUT) path.frame++, path.depth--;
    size_t ranges = 0;
    while (!calls && ranges < path.depth && !mpr_frame_is_call(path.frame[ranges])) ranges++;
    const size_t end = calls ? path.depth : calls_end(path, ranges);
    const struct mpr_path stack = { path.frame + ranges, end - ranges };
    const struct stack s = { t, stack.frame, without_allocator(t, stack) };
    struct mpr_frame_summary told = { path, "" };
    if (!s.depth) return told;
    const struct mpr_frame **brief = mpr_arena_alloc(arena, (ranges + 2) * sizeof *brief);
    const size_t at = user_frame(&s);
    const struct mpr_frame *callee = end < path.depth ? path.frame[path.depth - 1] : NULL;
    const char *name = callee ? "" : callee_name(&s, at);
    if (*name) callee = mpr_frame_named(arena, MPR_FRAME_LABEL, name);
    memcpy(brief, path.frame, ranges * sizeof *brief);
    brief[ranges] = summary_frame(&s, arena, at);
    if (callee) brief[ranges + 1] = callee;
    told.path = (struct mpr_path){ brief, ranges + 1 + (callee != NULL) };
    if (!ranges && end == path.depth) told.caller = caller_name(&s, arena, at);
    return told;
}

bool mpr_user_frames_is_own(struct mpr_user_frames *t, struct mpr_arena *arena,
                            struct mpr_path path)
{
    return mpr_user_frames_summary(t, arena, path, true).path.depth == 1;
}

const char *mpr_user_frames_places(struct mpr_user_frames *t, struct mpr_arena *arena,
                                   struct mpr_path path, size_t max)
{
    const char *text = "";
    for (size_t i = without_allocator(t, path), places = 0; i-- > 0;) {
        const char *place = mpr_frame_place(arena, path.frame[i]);
        if (!*place || kind_of(t, path.frame[i]) != KIND_OWN) continue;
        if (places++ == max) return mpr_arena_format(arena, "%s < ...", text);
        text = mpr_arena_format(arena, "%s%s%s", text, *text ? " < " : "", place);
    }
    return text;
}

const struct mpr_frame *mpr_frame_difference(struct mpr_path path, struct mpr_path other)
{
    while (path.depth && other.depth &&
           mpr_frame_compare(path.frame[path.depth - 1], other.frame[other.depth - 1]) == 0)
        path.depth--, other.depth--;
    return path.depth ? path.frame[path.depth - 1] : NULL;
}
