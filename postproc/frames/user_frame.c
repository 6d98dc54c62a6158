#include "user_frame.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "basename.h"
#include "index.h"

enum kind {
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

/* For frames that match no pattern. */
static const struct pattern own_code = { KIND_OWN, "", "" },
                            package_code = { KIND_PACKAGE, "", "" },
                            allocator = { KIND_ALLOCATOR, "", "" },
                            nameless = { KIND_NAMELESS, "", "" };

#define COUNT(list) (sizeof(list) / sizeof *(list))

struct mpr_user_frames {
    struct pattern *given;
    size_t givens, given_cap;
    const struct pattern **found; /* of each frame that was classified */
    uint32_t count, cap;
    struct mpr_index number;  /* from a frame to its index in `found` + 1 */
    struct mpr_arena scratch; /* texts for classifying frames, freed now and then */
};

struct mpr_user_frames *mpr_user_frames_new(void)
{
    return mpr_alloc(1, sizeof(struct mpr_user_frames));
}

void mpr_user_frames_free(struct mpr_user_frames *t)
{
    mpr_index_free(&t->number);
    mpr_arena_free(&t->scratch);
    free(t->given);
    free(t->found);
    free(t);
}

void mpr_user_frames_hide(struct mpr_user_frames *t, const char *pattern)
{
    *MPR_ADD(t->given, t->givens, t->given_cap) = (struct pattern){ KIND_HIDDEN, pattern, "" };
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

/* Returns true for the '<' of template arguments, and not for that of "operator<", "operator<=>"
 * and the like.  Template arguments may follow an operator: "operator+<int>", "operator<< <int>".
 */
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

/* Replaces template arguments longer than `keep` bytes by `instead`, which is not longer.  At the
 * first '<' without an end it stops, so that the end is searched only once. */
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

/* Returns "f<..>" for "void f<..>": the name of a template begins with its return type. */
static const char *without_return_type(const char *name)
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
    return without_return_type(without_arguments(arena, frame->name, KEEP, "<..>"));
}

const struct mpr_frame *mpr_frame_short(struct mpr_arena *arena, const struct mpr_frame *frame)
{
    struct mpr_frame fields = *frame;
    fields.name = short_name(arena, frame);
    fields.text = NULL;
    return fields.name == frame->name ? frame : mpr_frame_new(arena, fields);
}

/* ---- allocators in C: jemalloc, mimalloc, tcmalloc, snmalloc, rpmalloc, dlmalloc, nedmalloc
 *
 * A program may contain one under names with a prefix, like je_malloc. */

/* A word of a name, between underscores. */
struct word {
    const char *at;
    size_t length;
};

/* @list: words, with a blank before and after each */
static bool is_in(struct word word, const char *list)
{
    for (const char *at = list; (at = memmem(at, strlen(at), word.at, word.length)); at++)
        if (at[-1] == ' ' && at[word.length] == ' ') return true;
    return false;
}

/* Splits a name into words.  Returns their number, or 0 if there are more than @room or the name
 * has other characters than letters, digits and underscores. */
static size_t split_words(const char *name, struct word *word, size_t room)
{
    size_t words = 0;
    for (const char *at = name; *at;) {
        const size_t length = strcspn(at, "_");
        for (size_t i = 0; i < length; i++)
            if (!isalnum((unsigned char)at[i])) return 0;
        if (length && words == room) return 0;
        if (length) word[words++] = (struct word){ at, length };
        at += length + (at[length] == '_');
    }
    return words;
}

/* Words in the names of functions that allocate or free, and of no others. */
static const char allocating[] =
    " malloc calloc realloc memalign mallocx rallocx xallocx sallocx dallocx sdallocx nallocx "
    "zalloc valloc pvalloc mallocn reallocn reallocf reallocarray recalloc rezalloc free cfree "
    "dealloc ";
/* Words in the names of such functions and of others. */
static const char operators[] = " new newarray delete deletearray strdup strndup ";
/* Words that an allocator adds to these names. */
static const char qualifiers[] =
    " je aligned at posix small heap theap zeroed zero default usable size sized nothrow generic n "
    "rust alloc page skip handler hard arena large independent pool ex ";

/* Returns true if the words are the name of an allocator's function without the prefix: malloc,
 * posix_memalign, aligned_alloc, heap_zalloc_aligned_at.
 * @with_operators: new and delete count */
static bool is_allocator_function(const struct word *word, size_t words, bool with_operators)
{
    bool found = false;
    for (size_t i = 0; i < words; i++) {
        const bool aligned_alloc =
            i && is_in(word[i], " alloc ") && is_in(word[i - 1], " aligned rust ");
        if (aligned_alloc || is_in(word[i], allocating) ||
            (with_operators && is_in(word[i], operators)))
            found = true;
        else if (!is_in(word[i], qualifiers)) return false;
    }
    return found;
}

/* Returns true for the name of an allocator's function with a prefix: je_malloc, dlmalloc,
 * _rjem_je_malloc_default, mi_heap_zalloc_aligned.  The prefix alone is not enough: tc_alloc_tiles
 * may be any program's function. */
static bool is_allocator(const char *function)
{
    static const char *const joined[] = { "dl", "nedp", "ned", "rp", "xx" };
    struct word word[8];
    const size_t words = split_words(function, word, COUNT(word));
    size_t prefix = 0;
    if (!words) return false;
    while (prefix + 1 < words && !is_in(word[prefix], " je rjem mi tc sn ")) prefix++;
    if (prefix + 1 < words &&
        is_allocator_function(word + prefix + 1, words - prefix - 1, prefix == 0))
        return true;
    const struct word first = word[0];
    for (size_t i = 0; i < COUNT(joined); i++) {
        const size_t length = strlen(joined[i]);
        if (first.length <= length || memcmp(first.at, joined[i], length) != 0) continue;
        word[0] = (struct word){ first.at + length, first.length - length };
        if (is_allocator_function(word, words, false)) return true;
    }
    return false;
}

/* ---- the kind of a frame */

/* The texts that patterns match. */
struct frame_texts {
    const char *function;
    const char *with_file; /* "function (file.py:12)" */
    const char *with_path; /* the same with the folders of the file */
};

static const struct pattern *find(const struct pattern *list, size_t count,
                                  struct frame_texts texts)
{
    for (const struct pattern *p = list; p < list + count; p++) {
        const char *text = !strchr(p->text, '(')  ? texts.function
                           : strchr(p->text, '/') ? texts.with_path
                                                  : texts.with_file;
        if (mpr_pattern_matches(p->text, text)) return p;
    }
    return NULL;
}

static const struct pattern *classify(const struct mpr_user_frames *t, struct mpr_arena *scratch,
                                      const struct mpr_frame *frame)
{
    const bool no_name = frame->kind == MPR_FRAME_ADDRESS, native = frame->kind >= MPR_FRAME_NATIVE;
    const char *function = no_name  ? "?"
                           : native ? without_arguments(scratch, frame->name, 0, "")
                                    : frame->name,
               *place = no_name ? frame->object : mpr_frame_place(scratch, frame);
    struct frame_texts texts = { function, function, function };
    if (*place) {
        texts.with_file = mpr_arena_format(scratch, "%s (%s)", function, mpr_basename(place));
        texts.with_path = mpr_arena_format(scratch, "%s (%s)", function, place);
    }
    const struct pattern *found = find(t->given, t->givens, texts);
    if (!found && native && is_allocator(function)) return &allocator;
    if (!found) found = find(listed, COUNT(listed), texts);
    if (found) return found;
    /* The program's own code has no folder (mpr_python_file). */
    if (frame->kind == MPR_FRAME_PYTHON && strchr(frame->file, '/')) return &package_code;
    return no_name ? &nameless : &own_code;
}

static const struct pattern *class_of(struct mpr_user_frames *t, const struct mpr_frame *frame)
{
    enum { KEPT = 256 };
    const uint32_t known = mpr_index_get(&t->number, frame->id);
    if (known) return t->found[known - 1];
    if (t->count % KEPT == 0) mpr_arena_free(&t->scratch);
    const struct pattern *found = classify(t, &t->scratch, frame);
    *MPR_ADD(t->found, t->count, t->cap) = found;
    mpr_index_set(&t->number, frame->id, t->count);
    return found;
}

static enum kind kind_of(struct mpr_user_frames *t, const struct mpr_frame *frame)
{
    return class_of(t, frame)->kind;
}

/* ---- a stack: its last frame is the innermost */

/* Returns the number of frames up to the outermost one of an allocator. */
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

/* Returns the innermost frame of a kind, or the depth. */
static size_t innermost(struct mpr_user_frames *t, struct mpr_path s, enum kind a, enum kind b)
{
    for (size_t i = s.depth; i-- > 0;) {
        const enum kind kind = kind_of(t, s.frame[i]);
        if (kind == a || kind == b) return i;
    }
    return s.depth;
}

/* Returns the index of the user's frame: the innermost one of the program, or else of a package, or
 * else of a library, or else the innermost frame. */
static size_t find_user_frame(struct mpr_user_frames *t, struct mpr_path s)
{
    size_t i = innermost(t, s, KIND_OWN, KIND_NAMELESS);
    if (i < s.depth) {
        /* For a call without a name, take the next outer call that has one, if it is in the same
         * object file and its source is unknown. */
        size_t up = i;
        while (up > 0 && kind_of(t, s.frame[up]) == KIND_NAMELESS) up--;
        const struct mpr_frame *outer = s.frame[up], *frame = s.frame[i];
        const bool same_object =
            !*outer->file && *frame->object && strcmp(outer->object, frame->object) == 0;
        return kind_of(t, outer) == KIND_OWN && same_object ? up : i;
    }
    i = innermost(t, s, KIND_PACKAGE, KIND_PACKAGE);
    if (i < s.depth) return i;
    i = innermost(t, s, KIND_LIBRARY, KIND_LIBRARY);
    return i < s.depth ? i : s.depth - 1;
}

/* Returns the outermost library frame from frame `from` on, or the depth. */
static size_t find_library_call(struct mpr_user_frames *t, struct mpr_path s, size_t from)
{
    for (size_t i = from; i < s.depth; i++) {
        const enum kind kind = kind_of(t, s.frame[i]);
        if (kind == KIND_LIBRARY || kind == KIND_PACKAGE) return i;
    }
    return s.depth;
}

/* Returns the name of the library function that frame `from` or the innermost call of a module has
 * called, or "" without one. */
static const char *callee_name(struct mpr_user_frames *t, struct mpr_path s, size_t from)
{
    const size_t module = module_frame(s);
    size_t i = s.depth;
    if (module < s.depth && module > from) {
        i = find_library_call(t, s, module + 1);
        if (i == s.depth && find_library_call(t, s, module) == module) i = module;
    }
    if (i == s.depth) i = find_library_call(t, s, from + 1);
    if (i == s.depth) return "";
    const char *name = class_of(t, s.frame[i])->name;
    return *name ? name : s.frame[i]->name;
}

/* Returns the name of the next outer function of the program, or "" if that is the body of a Python
 * module, from which everything is called. */
static const char *caller_name(struct mpr_user_frames *t, struct mpr_arena *arena,
                               struct mpr_path s, size_t of)
{
    const char *name = s.frame[of]->name;
    const bool in_package = kind_of(t, s.frame[of]) == KIND_PACKAGE;
    for (size_t i = of; i-- > 0;) {
        const struct mpr_frame *frame = s.frame[i];
        const enum kind kind = kind_of(t, frame);
        const size_t bytes = strlen(frame->name);
        if (kind != KIND_OWN && !(in_package && kind == KIND_PACKAGE)) continue;
        /* Skip the same function, and f for "f.<locals>.<listcomp>". */
        if (strncmp(name, frame->name, bytes) == 0 &&
            (!name[bytes] || strncmp(name + bytes, ".<locals>", 9) == 0))
            continue;
        return strcmp(frame->name, "<module>") == 0 ? "" : short_name(arena, frame);
    }
    return "";
}

/* Returns the user's frame as it is shown: a Python one with the path of the innermost module. */
static const struct mpr_frame *summary_frame(struct mpr_arena *arena, struct mpr_path s, size_t at)
{
    struct mpr_frame fields = *s.frame[at];
    const size_t module = module_frame(s);
    if (fields.kind != MPR_FRAME_PYTHON) return mpr_frame_short(arena, s.frame[at]);
    if (module == s.depth) return s.frame[at];
    fields.module = s.frame[module]->module;
    fields.module_first = true;
    fields.text = NULL;
    return mpr_frame_new(arena, fields);
}

/* ---- paths */

struct mpr_path mpr_frame_summary_path(struct mpr_arena *arena,
                                       const struct mpr_frame_summary *summary)
{
    const struct mpr_path path = summary->path;
    if (!*summary->caller || !path.depth) return path;
    const struct mpr_frame **frame = mpr_arena_alloc(arena, (path.depth + 1) * sizeof *frame);
    frame[0] = mpr_frame_named(arena, MPR_FRAME_LABEL, summary->caller);
    memcpy(frame + 1, path.frame, path.depth * sizeof *frame);
    return (struct mpr_path){ frame, path.depth + 1 };
}

const char *mpr_frame_with_caller(struct mpr_arena *arena, const char *text, const char *caller)
{
    return *caller ? mpr_arena_format(arena, "%s > %s", caller, text) : text;
}

struct mpr_frame_summary mpr_user_frames_summary(struct mpr_user_frames *t, struct mpr_arena *arena,
                                                 struct mpr_path path, bool calls)
{
    if (path.depth > 1 && path.frame[0]->kind == MPR_FRAME_CUT) path.frame++, path.depth--;
    size_t ranges = 0;
    while (!calls && ranges < path.depth && !mpr_frame_is_call(path.frame[ranges])) ranges++;
    /* The calls of a backward operator are followed by its range, "torch:MmBackward0". */
    size_t end = path.depth;
    if (!calls && ranges < path.depth && path.frame[ranges]->is_backward)
        while (end > ranges && path.frame[end - 1]->kind != MPR_FRAME_PYTHON) end--;
    if (end == ranges) end = path.depth;
    struct mpr_path s = { path.frame + ranges, end - ranges };
    struct mpr_frame_summary summary = { path, "" };
    s.depth = without_allocator(t, s);
    if (!s.depth) return summary;
    const struct mpr_frame **brief = mpr_arena_alloc(arena, (ranges + 2) * sizeof *brief);
    const size_t at = find_user_frame(t, s);
    const struct mpr_frame *callee = end < path.depth ? path.frame[path.depth - 1] : NULL;
    const char *name = callee ? "" : callee_name(t, s, at);
    if (*name) callee = mpr_frame_named(arena, MPR_FRAME_LABEL, name);
    memcpy(brief, path.frame, ranges * sizeof *brief);
    brief[ranges] = summary_frame(arena, s, at);
    if (callee) brief[ranges + 1] = callee;
    summary.path = (struct mpr_path){ brief, ranges + 1 + (callee != NULL) };
    if (!ranges && end == path.depth) summary.caller = caller_name(t, arena, s, at);
    return summary;
}

bool mpr_user_frames_is_own(struct mpr_user_frames *t, struct mpr_arena *arena,
                            struct mpr_path path)
{
    return mpr_user_frames_summary(t, arena, path, true).path.depth == 1;
}

bool mpr_user_frames_is_foreign(struct mpr_user_frames *t, const struct mpr_frame *frame)
{
    const enum kind kind = kind_of(t, frame);
    return kind != KIND_OWN && kind != KIND_NAMELESS;
}

const char *mpr_user_frames_places(struct mpr_user_frames *t, struct mpr_arena *arena,
                                   struct mpr_path path, size_t max)
{
    const char *text = "";
    for (size_t i = without_allocator(t, path), places = 0; i-- > 0;) {
        const char *place = mpr_frame_place(arena, path.frame[i]);
        if (!*place || kind_of(t, path.frame[i]) != KIND_OWN) continue;
        if (places++ == max) return mpr_arena_format(arena, "... > %s", text);
        text = mpr_arena_format(arena, "%s%s%s", place, *text ? " > " : "", text);
    }
    return text;
}

size_t mpr_frame_difference(struct mpr_path path, struct mpr_path other)
{
    while (path.depth && other.depth &&
           mpr_frame_compare(path.frame[path.depth - 1], other.frame[other.depth - 1]) == 0)
        path.depth--, other.depth--;
    return path.depth;
}
