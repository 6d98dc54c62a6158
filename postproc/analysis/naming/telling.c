#include "telling.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "allocator_names.h"
#include "index.h"
#include "mpf/event.h"

/* PACKAGE: of one that is installed. */
enum kind {
    KIND_UNKNOWN,
    KIND_OWN,
    KIND_PACKAGE,
    KIND_LIBRARY,
    KIND_PLUMBING,
    KIND_ALLOCATOR,
    KIND_NAMELESS
};

struct pattern {
    enum kind kind;
    const char *text, *name;
};

static const struct pattern known[] = {
#define ALLOCATOR(pattern)     { KIND_ALLOCATOR, pattern, "" },
#define PLUMBING(pattern)      { KIND_PLUMBING, pattern, "" },
#define LIBRARY(pattern, name) { KIND_LIBRARY, pattern, name },
#include "plumbing.def"
};

static const struct pattern allocator = { KIND_ALLOCATOR, "", "" };

/* A frame's text is looked at once: texts of one frame are one text, mostly, which lasts. */
struct frame {
    const struct pattern *pattern;
    enum kind kind;
};

struct mpr_telling {
    struct pattern *own;
    size_t owns, own_cap;
    struct frame *frame;
    uint32_t frames, frame_cap;
    struct mpr_index by_text;
};

struct mpr_telling *mpr_telling_new(void) { return mpr_alloc(1, sizeof(struct mpr_telling)); }

void mpr_telling_free(struct mpr_telling *t)
{
    mpr_index_free(&t->by_text);
    free(t->own);
    free(t->frame);
    free(t);
}

void mpr_telling_add(struct mpr_telling *t, const char *pattern)
{
    MPR_GROW(t->own, t->owns, t->own_cap);
    t->own[t->owns++] = (struct pattern){ KIND_PLUMBING, pattern, "" };
}

/* ---- the text of a frame */

const char *mpr_telling_source(const char *frame)
{
    const size_t length = strlen(frame);
    if (!length || frame[length - 1] != ')') return frame + length;
    const char *open = strrchr(frame, '(');
    return open && open > frame && open[-1] == ' ' ? open - 1 : frame + length;
}

/* " [layers.3]" of a torch.nn module, before the source; where the source begins where there is
 * none. */
static const char *module_of(const char *frame, const char *source)
{
    if (source == frame || source[-1] != ']' || !*source) return source;
    const char *open = source - 1;
    while (open > frame && *open != '[') open--;
    return open > frame && open[-1] == ' ' && open + 2 < source ? open - 1 : source;
}

bool mpr_telling_is_nameless(const char *frame)
{
    const char *plus = strstr(frame, "+0x");
    return (plus && !strchr(frame, ' ') && plus[3 + strspn(plus + 3, "0123456789abcdef")] == 0) ||
           strncmp(frame, "0x", 2) == 0;
}

bool mpr_telling_is_python(const char *frame)
{
    const char *source = mpr_telling_source(frame);
    return strstr(source, ".py:") || strncmp(source, " (<", 3) == 0 ||
           strncmp(source, " (bin/", 6) == 0;
}

/* The innermost frame of a module; `depth`: there is none. */
static size_t module_frame(const char *const *path, size_t depth)
{
    for (size_t i = depth; i-- > 0;) {
        const char *source = mpr_telling_source(path[i]);
        if (mpr_telling_is_python(path[i]) && module_of(path[i], source) < source) return i;
    }
    return depth;
}

struct mpr_told_module mpr_telling_module(const char *const *path, size_t depth)
{
    const size_t i = module_frame(path, depth);
    if (i == depth) return (struct mpr_told_module){ 0 };
    const char *source = mpr_telling_source(path[i]), *open = module_of(path[i], source) + 1;
    return (struct mpr_told_module){ path[i], (size_t)(open + 1 - path[i]),
                                     (size_t)(source - 1 - (open + 1)) };
}

/* Own code has its file without a folder (python_file.h in replay). */
static bool is_package(const char *frame)
{
    return mpr_telling_is_python(frame) && strchr(mpr_telling_source(frame), '/');
}

static bool follows_operator(const char *name, const char *at)
{
    return at - name >= 8 && strncmp(at - 8, "operator", 8) == 0;
}

/* Behind "operator+", "operator()", "operator<< ": there the demangler puts a blank.  No sign is
 * longer than "<=>". */
static bool is_behind_sign(const char *name, const char *at)
{
    const char *end = at > name + 1 && at[-1] == ' ' && at[-2] == '<' ? at - 1 : at, *sign = end;
    while (sign > name && end - sign < 3 && strchr("+-*/%^&|~!=<>,[]()", sign[-1])) sign--;
    return sign < end && follows_operator(name, sign) && (end < at || at[-1] != '<');
}

/* Not "operator<", "operator->" and the like. */
static bool opens_template(const char *name, const char *at)
{
    if (*at != '<' || at == name) return false;
    if (isalnum((unsigned char)at[-1]) || at[-1] == '_') return !follows_operator(name, at);
    return is_behind_sign(name, at);
}

/* Behind the '>' that belongs to the '<'; NULL: there is none. */
static const char *template_end(const char *at, const char *end)
{
    int depth = 0;
    for (; at < end; at++) {
        if (*at == '<') depth++;
        if (*at == '>' && at[-1] != '-' && --depth == 0) return at + 1;
    }
    return NULL;
}

/* `keep`: arguments of so many bytes stay; `instead` is no longer than what it stands for.  Behind
 * a
 * '<' that never ends nothing is taken out, so that no end is looked for twice. */
static const char *without_arguments(struct mpr_arena *arena, const char *frame, const char *end,
                                     size_t keep, const char *instead)
{
    char *const text = mpr_arena_alloc(arena, (size_t)(end - frame) + 1), *out = text;
    const char *from = frame;
    for (const char *at = frame; at < end; at++) {
        if (!opens_template(frame, at)) continue;
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

/* "void f<..> " is told as "f<..> ": of templates the name has what they return. */
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

const char *mpr_telling_short(struct mpr_arena *arena, const char *frame)
{
    enum { KEEP = 12 };
    const char *source = mpr_telling_source(frame);
    if (mpr_telling_is_python(frame) || !strchr(frame, '<')) return frame;
    return mpr_arena_format(arena, "%s%s",
                            without_result(without_arguments(arena, frame, source, KEEP, "<..>")),
                            source);
}

/* ---- what kind a frame is of */

bool mpr_telling_matches(const char *pattern, const char *text)
{
    const char *star = NULL, *again = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            again = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++again;
        } else return false;
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

struct looks {
    const char *function, *whole; /* the file without folders */
    const char *path;             /* the file with those that the frame has */
};

/* The texts that patterns are about. */
static struct looks looks_of(struct mpr_arena *arena, const char *frame)
{
    if (mpr_telling_is_nameless(frame)) {
        const int length = (int)strcspn(frame, "+");
        const char *whole = mpr_arena_format(arena, "? (%.*s)", length, frame);
        return (struct looks){ "?", whole, whole };
    }
    const char *source = mpr_telling_source(frame), *end = module_of(frame, source);
    const char *function = mpr_telling_is_python(frame)
                               ? mpr_arena_format(arena, "%.*s", (int)(end - frame), frame)
                               : without_arguments(arena, frame, end, 0, "");
    const char *slash = strrchr(source, '/'),
               *path = mpr_arena_format(arena, "%s%s", function, source);
    return (struct looks){ function,
                           slash ? mpr_arena_format(arena, "%s (%s", function, slash + 1) : path,
                           path };
}

static const char *look_for(const char *pattern, struct looks looks)
{
    if (!strchr(pattern, '(')) return looks.function;
    return strchr(pattern, '/') ? looks.path : looks.whole;
}

static const struct pattern *find(const struct pattern *list, size_t count, struct looks looks)
{
    for (size_t i = 0; i < count; i++)
        if (mpr_telling_matches(list[i].text, look_for(list[i].text, looks))) return &list[i];
    return NULL;
}

static struct frame look(const struct mpr_telling *t, const char *text)
{
    struct mpr_arena scratch = { 0 };
    const struct looks looks = looks_of(&scratch, text);
    struct frame f = { find(t->own, t->owns, looks), KIND_OWN };
    if (!f.pattern && !mpr_telling_is_python(text) && mpr_is_allocator(looks.function))
        f.pattern = &allocator;
    if (!f.pattern) f.pattern = find(known, sizeof known / sizeof *known, looks);
    if (f.pattern) f.kind = f.pattern->kind;
    else if (is_package(text)) f.kind = KIND_PACKAGE;
    else if (mpr_telling_is_nameless(text)) f.kind = KIND_NAMELESS;
    mpr_arena_free(&scratch);
    return f;
}

static const struct frame *frame_of(struct mpr_telling *t, const char *text)
{
    const uint64_t key = (uintptr_t)text;
    const uint32_t at = mpr_index_get(&t->by_text, key);
    if (at) return &t->frame[at - 1];
    const struct frame f = look(t, text);
    MPR_GROW(t->frame, t->frames, t->frame_cap);
    t->frame[t->frames++] = f;
    mpr_index_set(&t->by_text, key, t->frames);
    return &t->frame[t->frames - 1];
}

static enum kind kind_of(struct mpr_telling *t, const char *text)
{
    return frame_of(t, text)->kind;
}

/* ---- a stack: frame `depth` - 1 is the innermost */

struct stack {
    struct mpr_telling *t;
    const char *const *at;
    size_t depth;
};

/* Returns the number of frames without those that an allocator called. */
static size_t without_allocator(struct mpr_telling *t, const char *const *at, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        if (kind_of(t, at[i]) == KIND_ALLOCATOR) return i + 1;
    return depth;
}

const char *mpr_telling_allocator(struct mpr_telling *t, const char *const *path, size_t depth)
{
    const size_t kept = without_allocator(t, path, depth);
    return kept && kind_of(t, path[kept - 1]) == KIND_ALLOCATOR ? path[kept - 1] : NULL;
}

static bool in_file(const char *frame, const char *nameless)
{
    const char *source = mpr_telling_source(frame);
    const size_t length = strcspn(nameless, "+");
    return strncmp(source, " (", 2) == 0 && strncmp(source + 2, nameless, length) == 0 &&
           strcmp(source + 2 + length, ")") == 0;
}

/* A call without a name is told by the one of its file that has one and called it. */
static size_t with_name(const struct stack *s, size_t i)
{
    size_t up = i;
    while (up > 0 && kind_of(s->t, s->at[up]) == KIND_NAMELESS) up--;
    return kind_of(s->t, s->at[up]) == KIND_OWN && in_file(s->at[up], s->at[i]) ? up : i;
}

/* The innermost one of a kind; `depth`: there is none. */
static size_t innermost(const struct stack *s, enum kind a, enum kind b)
{
    for (size_t i = s->depth; i-- > 0;) {
        const enum kind kind = kind_of(s->t, s->at[i]);
        if (kind == a || kind == b) return i;
    }
    return s->depth;
}

/* Where nothing is the program's own, a package is; else what it asked a library for, or the
 * innermost call. */
static size_t telling(const struct stack *s)
{
    size_t i = innermost(s, KIND_OWN, KIND_NAMELESS);
    if (i < s->depth) return kind_of(s->t, s->at[i]) == KIND_NAMELESS ? with_name(s, i) : i;
    i = innermost(s, KIND_PACKAGE, KIND_PACKAGE);
    if (i < s->depth) return i;
    i = innermost(s, KIND_LIBRARY, KIND_LIBRARY);
    return i < s->depth ? i : s->depth - 1;
}

static size_t function_length(const char *frame)
{
    const char *source = mpr_telling_source(frame);
    return (size_t)(module_of(frame, source) - frame);
}

static const char *function_name(struct mpr_arena *arena, const char *frame)
{
    return mpr_arena_format(arena, "%.*s", (int)function_length(frame), frame);
}

static bool is_library(const struct stack *s, size_t i)
{
    const enum kind kind = kind_of(s->t, s->at[i]);
    return kind == KIND_LIBRARY || kind == KIND_PACKAGE;
}

/* What is called by frame `from` of a library, outermost first; `depth`: nothing. */
static size_t library_call(const struct stack *s, size_t from)
{
    size_t i = from + 1;
    while (i < s->depth && !is_library(s, i)) i++;
    return i;
}

/* What the telling frame called of a library, or what that library's innermost module did, whose
 * path is told, too; "": nothing. */
static const char *called(const struct stack *s, struct mpr_arena *arena, size_t from)
{
    const size_t module = module_frame(s->at, s->depth);
    size_t i = s->depth;
    if (module < s->depth && module > from) {
        i = library_call(s, module);
        if (i == s->depth && is_library(s, module)) i = module;
    }
    if (i == s->depth) i = library_call(s, from);
    if (i == s->depth) return "";
    const struct frame *f = frame_of(s->t, s->at[i]);
    return f->pattern && *f->pattern->name ? f->pattern->name : function_name(arena, s->at[i]);
}

/* The same function, or a "f.<locals>.<listcomp>" of f. */
static bool is_within(const char *frame, size_t length, const char *of, size_t bytes)
{
    if (strncmp(frame, of, bytes) != 0) return false;
    return bytes == length || strncmp(frame + bytes, ".<locals>", 9) == 0;
}

/* The next function outwards; the body of a module of Python calls everything. */
static const char *caller(const struct stack *s, struct mpr_arena *arena, size_t of)
{
    const size_t length = function_length(s->at[of]);
    const bool package = kind_of(s->t, s->at[of]) == KIND_PACKAGE;
    for (size_t i = of; i-- > 0;) {
        const char *frame = s->at[i];
        const enum kind kind = kind_of(s->t, frame);
        if (kind != KIND_OWN && !(package && kind == KIND_PACKAGE)) continue;
        if (is_within(s->at[of], length, frame, function_length(frame))) continue;
        return strncmp(frame, "<module>", 8) == 0
                   ? ""
                   : mpr_telling_short(arena, function_name(arena, frame));
    }
    return "";
}

/* "[layers.3] " of the innermost frame that has one. */
static const char *module_text(const struct stack *s, struct mpr_arena *arena)
{
    const struct mpr_told_module m = mpr_telling_module(s->at, s->depth);
    return m.length ? mpr_arena_format(arena, "[%.*s] ", (int)m.length, m.frame + m.from) : "";
}

static const char *telling_text(const struct stack *s, struct mpr_arena *arena, size_t at)
{
    const char *frame = s->at[at], *source = mpr_telling_source(frame);
    if (!mpr_telling_is_python(frame)) return mpr_telling_short(arena, frame);
    const char *module = module_text(s, arena);
    if (!*module && module_of(frame, source) == source) return frame;
    return mpr_arena_format(arena, "%s%.*s%s", module, (int)function_length(frame), frame, source);
}

/* ---- paths */

/* "f (file.c:12)", "f (libfoo.so.1)" or without a name: no range is called so, but Python's calls
 * may. */
static bool is_native(const char *frame)
{
    const char *source = mpr_telling_source(frame), *colon = strrchr(source, ':');
    return mpr_telling_is_nameless(frame) || strstr(source, ".so") ||
           (colon && strspn(colon + 1, "0123456789") == strlen(colon) - 2);
}

const char *mpr_telling_call(struct mpr_arena *arena, const char *name, bool sure)
{
    return sure || is_native(name) ? mpr_telling_short(arena, name) : name;
}

/* Native stacks have no ranges before them: all names are calls, and some look like nothing else.
 */
static bool is_native_stack(const char *const *path, size_t depth)
{
    bool native = false;
    for (size_t i = 0; i < depth; i++) {
        if (!is_native(path[i]) && !*mpr_telling_source(path[i])) return false;
        native |= is_native(path[i]);
    }
    return native;
}

/* Returns true for the line that replaces unknown callers. */
static bool is_cut(const char *frame)
{
    return strncmp(frame, MPF_CUT_BEGIN, strlen(MPF_CUT_BEGIN)) == 0;
}

static size_t first_call(const char *const *path, size_t depth)
{
    size_t i = 0;
    if (is_native_stack(path, depth)) return 0;
    while (i < depth && !mpr_telling_is_python(path[i])) i++;
    return i;
}

/* Behind the operator's calls stands what ran in its backward pass: "torch:MmBackward0".  Where the
 * calls end; `depth`: nothing stands there. */
static size_t calls_end(const char *const *path, size_t from, size_t depth)
{
    static const char backward[] = "backward of ";
    size_t end = depth;
    if (from == depth || strncmp(path[from], backward, strlen(backward)) != 0) return depth;
    while (end > from && !mpr_telling_is_python(path[end - 1])) end--;
    return end > from ? end : depth;
}

const char *const *mpr_told_path(struct mpr_arena *arena, const struct mpr_told *told)
{
    if (!*told->caller || !told->depth) return told->path;
    const char **path = mpr_arena_alloc(arena, told->depth * sizeof *path);
    memcpy(path, told->path, told->depth * sizeof *path);
    path[told->depth - 1] =
        mpr_arena_format(arena, "%s <- %s", path[told->depth - 1], told->caller);
    return path;
}

struct mpr_told mpr_telling_of(struct mpr_telling *t, struct mpr_arena *arena,
                               const char *const *path, size_t depth, bool calls)
{
    if (depth > 1 && is_cut(path[0])) path++, depth--;
    const size_t ranges = calls ? 0 : first_call(path, depth);
    const size_t end = calls ? depth : calls_end(path, ranges, depth);
    const struct stack s = { t, path + ranges, without_allocator(t, path + ranges, end - ranges) };
    struct mpr_told told = { path, depth, "" };
    if (!s.depth) return told;
    const char **short_path = mpr_arena_alloc(arena, (ranges + 2) * sizeof *short_path);
    const size_t at = telling(&s);
    const char *callee = end < depth ? path[depth - 1] : called(&s, arena, at);
    memcpy(short_path, path, ranges * sizeof *path);
    short_path[ranges] = telling_text(&s, arena, at);
    if (*callee) short_path[ranges + 1] = callee;
    return (struct mpr_told){ short_path, ranges + 1 + (*callee != 0),
                              ranges || end < depth ? "" : caller(&s, arena, at) };
}

const char *mpr_telling_places(struct mpr_telling *t, struct mpr_arena *arena,
                               const char *const *path, size_t depth, size_t most)
{
    const char *text = "";
    for (size_t i = without_allocator(t, path, depth), places = 0; i-- > 0;) {
        const char *source = mpr_telling_source(path[i]);
        if (!*source || kind_of(t, path[i]) != KIND_OWN) continue;
        if (places++ == most) return mpr_arena_format(arena, "%s < ...", text);
        text = mpr_arena_format(arena, "%s%s%.*s", text, *text ? " < " : "",
                                (int)strlen(source) - 3, source + 2);
    }
    return text;
}

const char *mpr_telling_difference(struct mpr_arena *arena, const char *const *path, size_t depth,
                                   const char *const *other, size_t other_depth)
{
    size_t same = 0;
    while (same < depth && same < other_depth &&
           strcmp(path[depth - 1 - same], other[other_depth - 1 - same]) == 0)
        same++;
    return same < depth ? mpr_telling_short(arena, path[depth - 1 - same]) : "";
}
