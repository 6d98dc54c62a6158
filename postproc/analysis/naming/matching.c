#include "matching.h"

#include <string.h>

#include "telling.h"

static const char *up_to(struct mpr_arena *arena, const char *name, const char *end)
{
    return end && *end ? mpr_arena_format(arena, "%.*s", (int)(end - name), name) : name;
}

/* Behind the ".so" of a library that tells its version; NULL: none is told. */
static const char *library_end(const char *text)
{
    const char *so = strstr(text, ".so.");
    return so ? so + strlen(".so") : NULL;
}

/* Where the number of the line begins, or of the library's version; the ')' where there is none. */
static const char *source_end(const char *source)
{
    const char *end = source + strlen(source) - 1;
    if (library_end(source)) return library_end(source);
    const char *colon = strrchr(source, ':');
    return colon && strspn(colon + 1, "0123456789") == (size_t)(end - colon - 1) ? colon : end;
}

/* Where what a compiler of native code added to the function's name begins: it copies functions,
 * and takes parts of them out.  Of Python's "Model.part.f" it is a class. */
static const char *function_end(enum mpr_group by, const char *frame, const char *source)
{
    static const char *const added[] = { ".constprop.", ".isra.",     ".part.",
                                         ".cold",       ".lto_priv.", " [clone " };
    const char *end = source;
    if (by != MPR_GROUP_STACK || mpr_telling_is_python(frame)) return source;
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        const char *at = strstr(frame, added[i]);
        if (at && at < end) end = at;
    }
    return end;
}

static bool is_in(const char *source, const char *program)
{
    const size_t length = strlen(program);
    return length && strncmp(source + 2, program, length) == 0 &&
           strcmp(source + 2 + length, ")") == 0;
}

static const char *frame_name(struct mpr_arena *arena, enum mpr_group by, const char *program,
                              const char *frame)
{
    const char *source = mpr_telling_source(frame);
    if (mpr_telling_is_nameless(frame)) return frame;
    if (!*source) return up_to(arena, frame, library_end(frame));
    const char *function = function_end(by, frame, source), *end = source_end(source);
    if (is_in(source, program)) return up_to(arena, frame, function);
    if (function == source && end[1] == 0) return frame;
    return mpr_arena_format(arena, "%.*s%.*s)", (int)(function - frame), frame, (int)(end - source),
                            source);
}

const char *mpr_matching_name(struct mpr_arena *arena, enum mpr_group by, const char *program,
                              const char *name)
{
    switch (by) {
    case MPR_GROUP_THREAD: return up_to(arena, name, mpr_telling_source(name));
    case MPR_GROUP_COMM: return up_to(arena, name, strstr(name, " 0x"));
    case MPR_GROUP_GRAPH: return up_to(arena, name, strstr(name, ", pool "));
    case MPR_GROUP_SIZE:
    case MPR_GROUP_HEAP: return name;
    default: return frame_name(arena, by, program, name);
    }
}

/* "(a.c:12)", not "(libfoo.so)": " (" stands before it. */
static bool is_file(const char *source)
{
    return *source && !library_end(source) && *source_end(source) == ':';
}

const char *mpr_matching_function(struct mpr_arena *arena, enum mpr_group by, const char *program,
                                  const char *name)
{
    const char *source = mpr_telling_source(name);
    if (by == MPR_GROUP_SIZE || by == MPR_GROUP_HEAP || !is_file(source))
        return mpr_matching_name(arena, by, program, name);
    return up_to(arena, name, function_end(by, name, source));
}

bool mpr_matching_is_address(enum mpr_group by, const char *name)
{
    return mpr_group_is_calls(by) && mpr_telling_is_nameless(name);
}
