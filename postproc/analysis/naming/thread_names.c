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

const char *const *mpr_thread_path(struct mpr_arena *arena, const char *label, size_t *depth)
{
    struct mpr_place place;
    const char **path = mpr_arena_alloc(arena, 2 * sizeof *path);
    const size_t bare = mpr_thread_bare(label), digits = number_of(label, bare);
    const char *name = mpr_arena_format(arena, "%.*s", (int)bare, label);
    *depth = 1;
    path[0] = label;
    if (digits) {
        path[0] = mpr_arena_format(arena, "%.*s", (int)(bare - digits), name);
        path[1] = name + bare - digits;
        *depth = 2;
    } else if (mpr_places_find(name, &place, 1)) path[0] = name;
    return path;
}

const char *mpr_thread_folded(struct mpr_arena *arena, const char *const *path, size_t depth,
                              size_t threads)
{
    struct mpr_number n;
    return mpr_arena_format(arena, "%s%s (%s threads)", path[0], depth > 1 ? path[1] : "",
                            mpr_units_count(&n, threads));
}
