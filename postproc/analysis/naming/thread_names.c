#include "thread_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "places.h"
#include "units.h"

size_t mpr_thread_bare(const char *label)
{
    const char *open = strrchr(label, '(');
    const bool number = open && open > label + 1 && open[-1] == ' ' &&
                        open[1 + strspn(open + 1, "0123456789")] == ')';
    return number ? (size_t)(open - 1 - label) : 0;
}

static size_t number_of(const char *name, size_t bytes)
{
    enum { DIGITS = 9 };
    size_t digits = 0;
    while (digits < bytes && isdigit((unsigned char)name[bytes - 1 - digits])) digits++;
    const char *number = name + bytes - digits;
    const bool is_one = digits && digits <= DIGITS && digits < bytes &&
                        isalpha((unsigned char)number[-1]) && (*number != '0' || digits == 1);
    return is_one ? digits : 0;
}

struct mpr_path mpr_thread_path(struct mpr_arena *arena, const struct mpr_frame *thread)
{
    struct mpr_place place;
    const struct mpr_frame **path = mpr_arena_alloc(arena, 2 * sizeof *path);
    const char *name = thread->name;
    const size_t bare = name == thread->text ? 0 : strlen(name), digits = number_of(name, bare);
    path[0] = thread;
    if (digits) {
        const char *pool = mpr_arena_format(arena, "%.*s", (int)(bare - digits), name);
        path[0] = mpr_frame_named(arena, MPR_FRAME_LABEL, pool);
        path[1] = mpr_frame_named(arena, MPR_FRAME_LABEL, name + bare - digits);
    } else if (bare && mpr_places_in_name(name, &place, 1))
        path[0] = mpr_frame_named(arena, MPR_FRAME_LABEL, name);
    return (struct mpr_path){ path, digits ? 2 : 1 };
}

struct mpr_path mpr_thread_folded(struct mpr_arena *arena, struct mpr_path path, size_t threads)
{
    struct mpr_number n;
    const char *text =
        mpr_arena_format(arena, "%s%s (%s threads)", path.frame[0]->text,
                         path.depth > 1 ? path.frame[1]->text : "", mpr_units_count(&n, threads));
    return mpr_frame_labels(arena, &text, 1);
}
