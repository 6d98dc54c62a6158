#include "check_lines.h"

#include <ctype.h>
#include <string.h>

#include "path_pattern.h"
#include "places.h"

/* @live: that many of the lines, which come first, hold something. */
static struct mpr_line *lines_of(struct mpr_arena *arena, const struct mpr_check_table *table,
                                 bool unfold, size_t *lines, size_t *live)
{
    struct mpr_naming naming = *table->naming;
    naming.unfold |= unfold;
    return mpr_naming_lines(arena, &naming, table->by, table->heap->row, table->heap->rows, lines,
                            live);
}

struct mpr_line *mpr_check_live_lines(struct mpr_arena *arena, const struct mpr_check_table *table,
                                      size_t *live)
{
    size_t lines;
    return lines_of(arena, table, true, &lines, live);
}

static const char *text_of(struct mpr_arena *arena, const struct mpr_line *line, enum mpr_group by)
{
    return line->row.path.depth ? mpr_frame_path_text(arena, line->row.path)
                                : mpr_group_nowhere(by);
}

static const char *with_caller(struct mpr_arena *arena, const struct mpr_line *line,
                               const char *text)
{
    return *line->caller ? mpr_arena_format(arena, "%s <- %s", text, line->caller) : text;
}

static struct mpr_check_lines sum(const struct mpr_check_table *table, const char *pattern,
                                  bool unfold)
{
    struct mpr_arena scratch = { 0 };
    struct mpr_check_lines found = { 0 };
    size_t lines, live;
    const struct mpr_line *line = lines_of(&scratch, table, unfold, &lines, &live);
    for (size_t i = 0; i < lines; i++) {
        const char *text = text_of(&scratch, &line[i], table->by);
        if (!mpr_path_pattern_matches(pattern, text) &&
            !mpr_path_pattern_matches(pattern, with_caller(&scratch, &line[i], text)))
            continue;
        found.lines++;
        found.bytes += line[i].row.bytes;
        found.estimated |= line[i].row.estimated;
    }
    mpr_arena_free(&scratch);
    return found;
}

struct mpr_check_lines mpr_check_lines_of(const struct mpr_check_table *table, const char *pattern)
{
    const struct mpr_check_lines found = sum(table, pattern, true);
    return found.lines ? found : sum(table, pattern, false);
}

void mpr_check_lines_near(const struct mpr_check_table *table, struct mpr_arena *arena,
                          struct mpr_nearest *nearest)
{
    size_t lines, live;
    const struct mpr_line *line = lines_of(arena, table, true, &lines, &live);
    for (size_t i = 0; i < lines; i++) {
        const char *text = text_of(arena, &line[i], table->by);
        mpr_nearest_try(nearest, text);
        if (*line[i].caller) mpr_nearest_try(nearest, with_caller(arena, &line[i], text));
    }
}

/* Where the number of a source line ("file.py:12)") or an address ("lib.so+0x1f") ends; the same
 * place for other text. */
static const char *end_of_number(const char *name, const char *at)
{
    const char *end = at;
    if (at - name >= 1 && at[-1] == ':')
        while (isdigit((unsigned char)*end)) end++;
    else if (at - name >= 3 && strncmp(at - 3, "+0x", 3) == 0)
        while (isxdigit((unsigned char)*end)) end++;
    return *end == ')' || !*end ? end : at;
}

const struct mpr_frame *mpr_check_starred(struct mpr_arena *arena, const struct mpr_frame *frame)
{
    enum { MOST = 8 };
    static const char *const star[MOST] = { "*", "*", "*", "*", "*", "*", "*", "*" };
    struct mpr_place place[MOST];
    const size_t places = mpr_places_find(frame, place, MOST);
    return places ? mpr_places_replace(arena, frame, place, star, places) : frame;
}

const char *mpr_check_line_pattern(struct mpr_arena *arena, const struct mpr_line *line)
{
    const struct mpr_path path = line->row.path;
    const struct mpr_frame **frame = mpr_arena_alloc(arena, path.depth * sizeof *frame);
    if (!path.depth) return NULL;
    for (size_t i = 0; i < path.depth; i++) frame[i] = mpr_check_starred(arena, path.frame[i]);
    const char *name = mpr_frame_path_text(arena, (struct mpr_path){ frame, path.depth });
    char *text = mpr_arena_alloc(arena, strlen(name) + 1);
    size_t bytes = 0;
    if (*name == '(') return NULL; /* "(no call stack)" */
    for (const char *at = name; *at;) {
        const char *end = end_of_number(name, at);
        text[bytes++] = end > at ? '*' : *at;
        at = end > at ? end : at + 1;
    }
    return text;
}
