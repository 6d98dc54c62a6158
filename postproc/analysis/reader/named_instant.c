#include "named_instant.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "gpu.h"
#include "labels.h"
#include "numbered_names.h"
#include "reader.h"
#include "reading.h"
#include "repeats.h"

/* ---- names of instances */

/* An instance of a range in the forms that reports print and users type:
 *
 * "step:12" and "step:12 (instance 12 of 30), in forward": the twelfth instance of range "step",
 * unless a range is called "step:12".
 * "step 7 (instance 8 of 12)" and "epoch > step 7 (no. 8)": the eighth instance of "step", or of
 * "epoch > step", if it has that name.
 * "step 7": the instance with that name.
 *
 * Each may end in ".end". */
struct instance_name {
    char *literal;   /* the name without ".end" and position */
    char *range;     /* the range's name, without the number */
    uint64_t number; /* number of the instance, from 1, or 0 if there is none */
    bool called;     /* only an instance with the literal name matches */
    bool end;
};

#define ARROW " > "

/* Reads a number of at least 1, such as "1,234". Returns the text after it, or NULL without one. */
static const char *number_of(const char *text, uint64_t *number)
{
    *number = 0;
    if (!isdigit((unsigned char)*text)) return NULL;
    for (; isdigit((unsigned char)*text) || (*text == ',' && isdigit((unsigned char)text[1]));
         text++)
        if (*text != ',' && (__builtin_mul_overflow(*number, 10, number) ||
                             __builtin_add_overflow(*number, (uint64_t)(*text - '0'), number)))
            return NULL;
    return *number ? text : NULL;
}

static const char *text_after(const char *text, const char *what)
{
    return text && strncmp(text, what, strlen(what)) == 0 ? text + strlen(what) : NULL;
}

/* Returns true if the text after an instance is empty, or if it is the place of the peak in the
 * instance. */
static bool is_complete(const char *rest) { return rest && (!*rest || text_after(rest, ", in ")); }

/* Takes the first @bytes of the text as the instance's name. The range's name is that path
 * without numbers. */
static bool take_literal(struct instance_name *n, const char *text, size_t bytes, uint64_t number)
{
    struct mpr_arena arena = { 0 };
    const char *range = "";
    if (!bytes) return false;
    n->literal = mpr_text_copy_part(text, bytes);
    for (const char *at = n->literal, *arrow; at && *at;
         at = arrow ? arrow + strlen(ARROW) : NULL) {
        arrow = strstr(at, ARROW);
        const size_t length = arrow ? (size_t)(arrow - at) : strlen(at);
        const char *name =
            mpr_name_without_numbers(&arena, mpr_arena_format(&arena, "%.*s", (int)length, at));
        range = mpr_arena_format(&arena, "%s%s%s", range, *range ? ARROW : "", name);
    }
    n->range = mpr_text_copy(range);
    n->number = number;
    n->called = true;
    mpr_arena_free(&arena);
    return true;
}

/* Reads " (instance 8 of 12)" and returns the text after it, or NULL. */
static const char *position_of(const char *text, uint64_t *number)
{
    uint64_t of;
    const char *at = text_after(text, " (instance ");
    if (at) at = text_after(number_of(at, number), " of ");
    return at ? text_after(number_of(at, &of), ")") : NULL;
}

/* "step:12", "step:12 (instance 12 of 30), in forward" */
static bool with_colon(const char *text, struct instance_name *n)
{
    for (const char *colon = text; (colon = strchr(colon, ':')); colon++) {
        uint64_t position;
        const char *to = number_of(colon + 1, &n->number);
        if (colon == text || !to) continue;
        if (*to && (!is_complete(position_of(to, &position)) || position != n->number)) continue;
        n->literal = mpr_text_copy_part(text, (size_t)(to - text));
        n->range = mpr_text_copy_part(text, (size_t)(colon - text));
        return true;
    }
    return false;
}

/* "step 7 (instance 8 of 12), in forward" */
static bool with_position(const char *text, struct instance_name *n)
{
    for (const char *open = text; (open = strstr(open, " (")); open++) {
        uint64_t number;
        if (is_complete(position_of(open, &number)))
            return take_literal(n, text, (size_t)(open - text), number);
    }
    return false;
}

/* "epoch > step 7 (no. 8)". Names may contain "(no. ", so the last one counts. */
static bool with_number(const char *text, struct instance_name *n)
{
    const char *open = NULL;
    uint64_t number;
    for (const char *at = text; (at = strstr(at, " (no. ")); at++) open = at;
    const char *to = open ? number_of(text_after(open, " (no. "), &number) : NULL;
    return to && strcmp(to, ")") == 0 && take_literal(n, text, (size_t)(open - text), number);
}

/* "step 7": a name with a number that is not a misspelled time. */
static bool alone(const char *text, struct instance_name *n)
{
    if (!strpbrk(text, "0123456789") || (strchr("+-.0123456789", *text) && !strchr(text, ' ')))
        return false;
    return take_literal(n, text, strlen(text), 0);
}

/* Returns false if the text is not such a name. The caller calls free_name in both cases. */
static bool parse_name(const char *text, struct instance_name *n)
{
    static const char end[] = ".end";
    *n = (struct instance_name){ .number = 0 };
    const size_t bytes = strlen(text);
    n->end = bytes > strlen(end) && strcmp(text + bytes - strlen(end), end) == 0;
    char *name = mpr_text_copy_part(text, bytes - (n->end ? strlen(end) : 0));
    const bool known =
        with_colon(name, n) || with_position(name, n) || with_number(name, n) || alone(name, n);
    free(name);
    return known;
}

static void free_name(struct instance_name *n)
{
    free(n->literal);
    free(n->range);
}

/* ---- names of instants */

static bool is_word(const char *text)
{
    static const char *const word[] = { "peak", "rss", "cgroup", "oom", "end" };
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (strcmp(text, word[i]) == 0) return true;
    return false;
}

bool mpr_named_instant_parse(const char *text)
{
    struct instance_name name;
    if (is_word(text)) return true;
    const bool known = parse_name(text, &name);
    free_name(&name);
    return known;
}

/* ---- instances of ranges */

enum {
    LITERAL = 1,
    LISTED = 3
}; /* LITERAL: which name of `named` is the literal one; LISTED: limit of instances in an error */

struct search {
    struct mpr_named_ranges named; /* the literal name "step:12", and the range "step" */
    const struct instance_name *wanted;
    uint64_t seen;                      /* instances of the range so far */
    uint64_t literal[LISTED], literals; /* numbers of the first instances with the literal name, and
                                           how many there are */
    uint64_t push;   /* number of the PUSH of the instance that was found, or 0 */
    uint32_t thread; /* its thread */
    uint64_t begin_ns, end_ns;
    bool found_literal, is_open;
    /* The program's marks with these names. */
    struct {
        uint64_t seen, literals; /* how many have the range's name, and the literal name */
        uint64_t ns, literal_ns; /* times of the requested one, and of the first with the literal
                                    name */
        bool found;
    } mark;
};

static void on_mark(struct search *s, const struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_arena arena = { 0 };
    const char *name =
        mpr_label_name(&arena, r, (uint32_t)e->addr, (uint32_t)((uint64_t)e->addr >> 32));
    if (strcmp(name, s->wanted->literal) == 0 && !s->mark.literals++) s->mark.literal_ns = e->time;
    if (strcmp(name, s->wanted->range) == 0 && ++s->mark.seen == s->wanted->number) {
        s->mark.found = true;
        s->mark.ns = e->time;
    }
    mpr_arena_free(&arena);
}

/* A range that the program calls "step:12" has precedence over the twelfth "step". If a name and
 * a number are given, the instance must have both. */
static void on_push(struct search *s, const struct mpr_replay *r, const struct mpr_thread *t,
                    const struct mpf_event *e)
{
    const struct instance_name *w = s->wanted;
    const uint32_t which = t->depth_overflow ? 0 : mpr_named_ranges_which(&s->named, r, t->node);
    if (!which) return;
    const bool literal = which == LITERAL, numbered = ++s->seen == w->number;
    if (literal && s->literals++ < LISTED) s->literal[s->literals - 1] = s->seen;
    if (w->called ? !literal || (!numbered && (w->number || s->push))
                  : s->found_literal || (!literal && !numbered))
        return;
    s->found_literal = literal;
    s->push = r->count[MPF_OP_PUSH];
    s->thread = t->number;
    s->begin_ns = e->time;
    s->is_open = true;
}

static void on_event(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    struct search *s = arg;
    if (e->op == MPF_OP_MARK) on_mark(s, r, e);
    else if (e->op == MPF_OP_PUSH) on_push(s, r, t, e);
    else if (s->is_open && ((e->op == MPF_OP_POP && t->popped == s->push) ||
                            (e->op == MPF_OP_THREAD_END && e->addr == s->thread))) {
        s->is_open = false;
        s->end_ns = r->now;
    }
}

static int instance_result(const struct search *s, const char *path, struct mpr_instant *at,
                           struct mpr_error *error)
{
    const struct instance_name *w = s->wanted;
    struct mpr_arena arena = { 0 };
    if (!s->push && s->seen && !w->called)
        return mpr_fail(error, "%s: no instance %" PRIu64 " of range %s: %" PRIu64 " found", path,
                        w->number, w->range, s->seen);
    if (!s->push && s->seen && w->number)
        return mpr_fail(error,
                        "%s: no instance %" PRIu64 " of %s has the name %s: %" PRIu64 " found",
                        path, w->number, w->range, w->literal, s->seen);
    if (!s->push) {
        mpr_fail(error, "%s: no range %s%s", path, w->called && !w->number ? w->literal : w->range,
                 mpr_named_ranges_hint(&s->named, &arena));
        mpr_arena_free(&arena);
        return -1;
    }
    if (!w->number && s->literals > 1) {
        const uint64_t listed = s->literals < LISTED ? s->literals : LISTED;
        const char *list = ""; /* "step:4, step:14 or step:24" */
        for (uint64_t i = 0; i < listed; i++) {
            const bool last = i + 1 == s->literals;
            list = mpr_arena_format(&arena, "%s%s%s:%" PRIu64, list,
                                    !i     ? ""
                                    : last ? " or "
                                           : ", ",
                                    w->range, s->literal[i]);
        }
        mpr_fail(error, "%s: %" PRIu64 " instances are called %s; give %s%s", path, s->literals,
                 w->literal, list, s->literals > listed ? ", ..." : "");
        mpr_arena_free(&arena);
        return -1;
    }
    *at = MPR_INSTANT_END_OF(w->end ? s->end_ns : s->begin_ns);
    return 0;
}

/* Finds the state after a mark. A mark that the program calls "load:2" has precedence over the
 * second mark "load". */
static int mark_result(const struct search *s, const char *path, struct mpr_instant *at,
                       struct mpr_error *error)
{
    const struct instance_name *w = s->wanted;
    const uint64_t literals = s->mark.literals;
    *at = MPR_INSTANT_END_OF(literals ? s->mark.literal_ns : s->mark.ns);
    if (literals == 1 || (!literals && s->mark.found)) return 0;
    if (literals)
        return mpr_fail(error, "%s: %" PRIu64 " marks are called %s; give %s:1 for the first one",
                        path, literals, w->literal, w->literal);
    return mpr_fail(error, "%s: no mark %" PRIu64 " with the name %s: %" PRIu64 " found", path,
                    w->number, w->range, s->mark.seen);
}

static int find_instance(struct mpr_reader *reader, const char *path,
                         const struct instance_name *wanted, const struct mpr_progress *progress,
                         struct mpr_instant *at, struct mpr_error *error)
{
    struct search s = { .wanted = wanted };
    mpr_named_ranges_begin(&s.named, wanted->literal, wanted->range);
    mpr_watch_begin(&reader->replay, (struct mpr_watch){ on_event, &s });
    int status = mpr_reader_replay(reader, path, progress, error);
    if (status == 0) {
        if (s.is_open) s.end_ns = reader->replay.now;
        const bool marked = !s.push && !s.seen && (s.mark.seen || s.mark.literals);
        status = marked ? mark_result(&s, path, at, error) : instance_result(&s, path, at, error);
        mpr_reader_close(reader);
    }
    mpr_named_ranges_free(&s.named);
    return status;
}

/* ---- words */

int mpr_no_oom(const char *path, struct mpr_error *error)
{
    return mpr_fail(error, "%s: no device ran out of memory, or the program recovered each time",
                    path);
}

static int find_word(const struct mpr_reader *reader, const char *text, const char *path,
                     uint8_t heap, struct mpr_instant *at, struct mpr_error *error)
{
    const struct mpr_replay *r = &reader->replay;
    const struct mpr_oom *oom = mpr_oom_newest(&r->gpu);
    const struct mpr_heap *largest = NULL;
    const bool rss = strcmp(text, "rss") == 0;
    for (unsigned i = 0; i < MPR_HEAPS; i++) {
        const struct mpr_heap *h = &r->accounts.heap[i];
        if (h->used && (!heap || i == heap) && (!largest || h->peak_bytes > largest->peak_bytes))
            largest = h;
    }
    if (rss || strcmp(text, "cgroup") == 0) {
        struct mpr_arena arena = { 0 };
        struct mpr_summary s;
        mpr_reader_summary(reader, path, &arena, &s);
        const struct mpr_reading_peak peak = mpr_reading_peak(
            &r->samples, rss ? MPR_READ_RSS : MPR_READ_CGROUP, rss ? s.hwm : 0, s.duration_ns);
        mpr_arena_free(&arena);
        if (peak.bytes == MPF_UNKNOWN)
            return mpr_fail(error, "%s: no sample of %s", path,
                            rss ? "resident memory" : "the charge of a memory cgroup");
        /* the time between the sample before the maximum and the first sample that has it */
        *at = (struct mpr_instant){ peak.from, peak.to, false };
    } else if (strcmp(text, "end") == 0) *at = MPR_INSTANT_END_OF(r->now);
    else if (strcmp(text, "peak") == 0) *at = MPR_INSTANT_AT(largest ? largest->peak_time : 0);
    else if (oom) *at = MPR_INSTANT_AT(oom->time);
    else return mpr_no_oom(path, error);
    return 0;
}

int mpr_named_instant_find(const char *path, const char *text, uint8_t heap,
                           const struct mpr_progress *progress, struct mpr_instant *at,
                           struct mpr_error *error)
{
    struct mpr_reader reader;
    struct instance_name name;
    if (mpr_reader_open(&reader, path, MPR_GROUP_RANGE, MPR_INSTANT_PEAK, error) != 0) return -1;
    const bool instance = !is_word(text) && parse_name(text, &name);
    if (instance) {
        const int status = find_instance(&reader, path, &name, progress, at, error);
        free_name(&name);
        return status;
    }
    reader.replay.options.without_blocks = strcmp(text, "rss") == 0 || strcmp(text, "cgroup") == 0;
    if (mpr_reader_replay(&reader, path, progress, error) != 0) return -1;
    const int status = find_word(&reader, text, path, heap, at, error);
    mpr_reader_close(&reader);
    return status;
}
