/* Files without users are kept up to IDLE_MOST: the logs of a run are mostly of the same program.
 * The logs may have an object at different addresses; it is opened at the first log's. */
#include "opened.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

enum { IDLE_MOST = 256 };

struct mpr_opened {
    struct mpr_debug *debug;
    enum mpr_symbols_state state;
    char *path;
    uint8_t *build_id;
    size_t build_id_bytes; /* 0: not shared */
    uint64_t from;
    size_t users;
};

/* Ordered by the time at which the last user gave a file back. */
static struct mpr_opened **opened;
static size_t count, cap;

static bool is_of(const struct mpr_opened *o, const struct mpr_binary *object)
{
    return o->build_id_bytes && o->build_id_bytes == object->build_id_bytes &&
           memcmp(o->build_id, object->build_id, o->build_id_bytes) == 0 &&
           strcmp(o->path, object->path) == 0;
}

static struct mpr_opened *find(const struct mpr_binary *object)
{
    for (size_t i = 0; i < count; i++)
        if (is_of(opened[i], object)) return opened[i];
    return NULL;
}

static struct mpr_opened *open_new(const struct mpr_binary *object, enum mpr_symbols_state *state)
{
    struct mpr_debug *debug = mpr_debug_open(object, state);
    if (!debug) return NULL;
    struct mpr_opened *o = mpr_alloc(1, sizeof *o);
    *o = (struct mpr_opened){ .debug = debug, .state = *state, .from = object->from };
    o->path = mpr_text_copy(object->path);
    o->build_id_bytes = object->build_id_bytes;
    o->build_id = mpr_alloc(o->build_id_bytes + 1, 1);
    if (o->build_id_bytes) memcpy(o->build_id, object->build_id, o->build_id_bytes);
    MPR_GROW(opened, count, cap);
    return opened[count++] = o;
}

struct mpr_opened *mpr_opened_get(const struct mpr_binary *object, enum mpr_symbols_state *state)
{
    struct mpr_opened *o = find(object);
    if (o) *state = o->state;
    else o = open_new(object, state);
    if (o) o->users++;
    return o;
}

static void take_out(const struct mpr_opened *o)
{
    size_t i = 0;
    while (opened[i] != o) i++;
    memmove(&opened[i], &opened[i + 1], (--count - i) * sizeof *opened);
}

static void destroy(struct mpr_opened *o)
{
    take_out(o);
    mpr_debug_close(o->debug);
    free(o->path);
    free(o->build_id);
    free(o);
}

static void close_oldest(void)
{
    struct mpr_opened *oldest = NULL;
    size_t idle = 0;
    for (size_t i = count; i-- > 0;)
        if (!opened[i]->users) oldest = opened[i], idle++;
    if (idle > IDLE_MOST) destroy(oldest);
}

void mpr_opened_put(struct mpr_opened *o)
{
    if (!o || --o->users) return;
    if (!o->build_id_bytes) {
        destroy(o);
        return;
    }
    take_out(o);
    opened[count++] = o;
    close_oldest();
}

bool mpr_opened_look(struct mpr_opened *o, uint64_t offset, mpr_debug_each *each, void *arg)
{
    const bool good = mpr_debug_look(o->debug, o->from + offset, each, arg);
    if (!good) o->build_id_bytes = 0;
    return good;
}
