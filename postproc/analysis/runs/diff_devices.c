/* Which devices of two runs are one: those of one UUID, else of one name, else of one number. */
#include <string.h>

#include "diff_runs.h"
#include "mpf/event.h"

struct matching {
    struct mpr_diff *diff;
    const struct mpr_log_peaks *base, *log;
    struct mpr_diff_devices *out;
    bool taken[MPF_GPUS];   /* numbers of the diff */
    bool matched[MPF_GPUS]; /* of the log's own */
};

/* ---- what makes them one */

static bool is_same(const char *a, const char *b) { return *a && strcmp(a, b) == 0; }

static bool same_uuid(const struct mpr_device *a, const struct mpr_device *b)
{
    return is_same(a->uuid, b->uuid);
}

static bool same_name(const struct mpr_device *a, const struct mpr_device *b)
{
    return is_same(a->name, b->name);
}

static bool same_number(const struct mpr_device *a, const struct mpr_device *b)
{
    return a->index == b->index;
}

/* Of those of one name the ones of one number come first. */
static bool same_name_and_number(const struct mpr_device *a, const struct mpr_device *b)
{
    return same_name(a, b) && same_number(a, b);
}

/* ---- what is worth a word */

static void say(struct matching *m, const char *text)
{
    struct mpr_diff *diff = m->diff;
    const char **note = mpr_arena_alloc(&diff->peaks.arena, (diff->notes + 1) * sizeof *note);
    if (diff->notes) memcpy(note, diff->note, diff->notes * sizeof *note);
    note[diff->notes++] = text;
    diff->note = note;
}

static void note_match(struct matching *m, const struct mpr_device *a, const struct mpr_device *b)
{
    struct mpr_arena *arena = &m->diff->peaks.arena;
    const char *base = m->base->summary.path, *log = m->log->summary.path;
    if (a->index != b->index)
        say(m, mpr_arena_format(arena, "gpu%u is gpu%u of %s: %s", a->index, b->index, log,
                                same_uuid(a, b) ? "it has the same UUID" : "it has the same name"));
    else if (*a->name && *b->name && !same_name(a, b) && !same_uuid(a, b))
        say(m, mpr_arena_format(arena, "gpu%u is %s in %s and %s in %s: matched by its number",
                                a->index, a->name, base, b->name, log));
}

/* ---- matching */

static void match(struct matching *m,
                  bool (*is_one)(const struct mpr_device *a, const struct mpr_device *b))
{
    for (size_t i = 0; i < m->log->devices; i++)
        for (size_t k = 0; k < m->base->devices; k++) {
            const struct mpr_device *a = &m->base->device[k], *b = &m->log->device[i];
            if (m->matched[b->index] || m->taken[a->index] || !is_one(a, b)) continue;
            m->matched[b->index] = m->taken[a->index] = true;
            m->out->number[b->index] = a->index;
            note_match(m, a, b);
        }
}

static bool is_of_base(const struct matching *m, unsigned number)
{
    for (size_t k = 0; k < m->base->devices; k++)
        if (m->base->device[k].index == number) return true;
    return false;
}

/* A device that the first run has not gets a number that is free: its own, where that is. */
static void number_others(struct matching *m)
{
    for (size_t i = 0; i < m->log->devices; i++) {
        const unsigned own = m->log->device[i].index;
        unsigned number = own;
        if (m->matched[own]) continue;
        for (unsigned k = 0; (m->taken[number] || is_of_base(m, number)) && k < MPF_GPUS; k++)
            number = (own + k) % MPF_GPUS;
        m->taken[number] = true;
        m->out->number[own] = number;
        if (number != own)
            say(m,
                mpr_arena_format(&m->diff->peaks.arena, "gpu%u is gpu%u of %s: %s has no such one",
                                 number, own, m->log->summary.path, m->base->summary.path));
    }
}

void mpr_diff_devices_match(struct mpr_diff *diff, size_t run)
{
    struct matching m = { .diff = diff,
                          .base = &diff->peaks.log[0],
                          .log = &diff->peaks.log[run],
                          .out = &diff->devices[run] };
    for (unsigned i = 0; i < MPF_GPUS; i++) m.out->number[i] = i;
    if (!run) return;
    match(&m, same_uuid);
    match(&m, same_name_and_number);
    match(&m, same_name);
    match(&m, same_number);
    number_others(&m);
}

uint8_t mpr_diff_heap(const struct mpr_diff *diff, size_t run, uint8_t heap)
{
    if (!mpf_heap_is_gpu(heap)) return heap;
    const unsigned number = diff->devices[run].number[mpf_heap_device(heap)];
    return (uint8_t)(mpf_heap_code(heap) | number << 4);
}
