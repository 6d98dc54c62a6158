#include "repeats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "labels.h"
#include "nearest.h"
#include "numbered_names.h"
#include "utf8.h"

/* ---- names */

/* Returns the name of a node's range. Names are cached, because many nodes may have the same
 * long name, except while a text is missing that may be recorded later. */
static struct mpr_repeats_text name_of(struct mpr_repeats *s, const struct mpr_replay *r,
                                       uint32_t node)
{
    const struct mpr_node *n = &r->ranges.node[node];
    const uint64_t key = (uint64_t)n->domain << 32 | n->name;
    const uint32_t known = mpr_index_get(&s->name_of, key);
    size_t bytes;
    if (known) return s->name[known - 1];
    const char *label = mpr_label_name(&s->arena, r, n->name, n->domain);
    const char *unnumbered = mpr_name_without_numbers(&s->arena, label);
    const struct mpr_repeats_text new = { label, unnumbered, mpr_hash_text(unnumbered) };
    if (!mpr_texts_get(&r->ranges.names, n->name, &bytes) ||
        (n->domain && !mpr_texts_get(&r->ranges.domains, n->domain, &bytes)))
        return new;
    MPR_GROW(s->name, s->names, s->name_cap);
    s->name[s->names++] = new;
    mpr_index_set(&s->name_of, key, s->names);
    return new;
}

/* ---- repeated ranges by node */

/* Iterates from the outermost unknown node inwards, because a path may be deep. */
uint32_t mpr_repeats_of(struct mpr_repeats *s, const struct mpr_replay *r, uint32_t node)
{
    uint32_t path[MPR_PATH_MAX + 1], depth = 0;
    MPR_REACH(s->of_node, node, s->nodes);
    for (uint32_t n = node; n && !s->of_node[n]; n = r->ranges.node[n].parent) path[depth++] = n;
    while (depth--) {
        const struct mpr_node *n = &r->ranges.node[path[depth]];
        const struct mpr_repeats_text text = name_of(s, r, path[depth]);
        const uint32_t parent = n->parent ? s->of_node[n->parent] : 0;
        const uint64_t hash = mpr_hash(text.hash + parent);
        uint32_t *of = &s->of_node[path[depth]];
        MPR_INDEX_EACH(number, &s->number, hash)
            if (s->repeat[number].parent == parent &&
                strcmp(s->repeat[number].name, text.unnumbered) == 0)
                *of = number;
        if (*of) continue;
        const char *domain = mpr_ranges_domain(&r->ranges, n->domain);
        if (!s->repeats) s->repeats = 1; /* 0 means none */
        *of = s->repeats++;
        MPR_REACH(s->repeat, *of, s->cap);
        s->repeat[*of] = (struct mpr_repeat){ .name = text.unnumbered,
                                              .parent = parent,
                                              .depth = n->depth,
                                              .rank = !n->domain                     ? 0
                                                      : strcmp(domain, "torch") == 0 ? 1
                                                                                     : 2 };
        mpr_index_add(&s->number, hash, *of);
    }
    return s->of_node[node];
}

struct mpr_path mpr_repeats_path(struct mpr_arena *arena, const struct mpr_repeats *s,
                                 uint32_t repeat)
{
    const size_t depth = s->repeat[repeat].depth;
    const struct mpr_frame **frame = mpr_arena_alloc(arena, depth * sizeof *frame);
    for (; repeat; repeat = s->repeat[repeat].parent)
        frame[s->repeat[repeat].depth - 1] =
            mpr_frame_named(arena, MPR_FRAME_RANGE, mpr_arena_text(arena, s->repeat[repeat].name));
    return (struct mpr_path){ frame, depth };
}

/* Returns true if no other path has the same last @names names. */
static bool is_unique(const struct mpr_repeats *s, uint32_t repeat, uint32_t names)
{
    for (uint32_t i = 1; i < s->repeats; i++) {
        uint32_t a = i, b = repeat, left = names;
        for (; left && a && b; left--, a = s->repeat[a].parent, b = s->repeat[b].parent)
            if (strcmp(s->repeat[a].name, s->repeat[b].name) != 0) break;
        if (i != repeat && !left) return false;
    }
    return true;
}

/* Returns how many names at the end of the path make it unique, or its depth. */
static uint32_t names_needed(const struct mpr_repeats *s, uint32_t repeat)
{
    uint32_t names = 1;
    while (names < s->repeat[repeat].depth && !is_unique(s, repeat, names)) names++;
    return names;
}

bool mpr_repeats_is_unique(const struct mpr_repeats *s, uint32_t repeat)
{
    return is_unique(s, repeat, names_needed(s, repeat));
}

const char *mpr_repeats_name(const struct mpr_repeats *s, struct mpr_arena *arena, uint32_t repeat)
{
    uint32_t names = names_needed(s, repeat), at = repeat;
    const char *name = mpr_arena_text(arena, s->repeat[repeat].name);
    while (--names) {
        at = s->repeat[at].parent;
        name = mpr_arena_format(arena, "%s > %s", s->repeat[at].name, name);
    }
    return name;
}

bool mpr_repeats_numbered(struct mpr_repeats *s, const struct mpr_replay *r, uint32_t node)
{
    const uint32_t repeat = mpr_repeats_of(s, r, node);
    return strcmp(name_of(s, r, node).label, s->repeat[repeat].name) != 0;
}

/* The label has as many names of the node's path as @range has, or only one if they are long. */
const char *mpr_repeats_label(struct mpr_repeats *s, const struct mpr_replay *r,
                              struct mpr_arena *arena, uint32_t node, const char *range,
                              uint64_t number)
{
    enum { LONGEST = 256 };
    const char *last = name_of(s, r, node).label, *label = last;
    if (!mpr_repeats_numbered(s, r, node))
        return mpr_arena_format(arena, "%s:%" PRIu64, range, number);
    if (strlen(range) > LONGEST) return mpr_arena_text(arena, last);
    for (const char *at = range; (at = strstr(at, " > ")); at++) {
        node = r->ranges.node[node].parent;
        const char *name = node ? name_of(s, r, node).label : "";
        if (!node || strlen(name) + strlen(label) > LONGEST) return mpr_arena_text(arena, last);
        label = mpr_arena_format(arena, "%s > %s", name, label);
    }
    return mpr_arena_text(arena, label);
}

/* ---- a name that the user gave */

/* Removes a text from the end of the first *left bytes of a name. */
static bool take_off(const char *name, size_t *left, const char *text)
{
    const size_t length = strlen(text);
    if (length > *left || memcmp(name + *left - length, text, length) != 0) return false;
    *left -= length;
    return true;
}

/* Compares from the innermost range outwards. */
bool mpr_repeats_named(struct mpr_repeats *s, const struct mpr_replay *r, uint32_t node,
                       const char *name)
{
    size_t left = strlen(name);
    for (; node; node = r->ranges.node[node].parent) {
        const uint32_t repeat = mpr_repeats_of(s, r, node);
        if (!take_off(name, &left, name_of(s, r, node).label) &&
            !take_off(name, &left, s->repeat[repeat].name))
            return false;
        if (!left) return true;
        if (!take_off(name, &left, " > ")) return false;
    }
    return false;
}

enum { NO_NAME = MPR_NAMES_MAX + 1, LISTED = 5, WIDTH = 60 };

void mpr_named_ranges_begin(struct mpr_named_ranges *n, const char *name, const char *other)
{
    *n = (struct mpr_named_ranges){ .repeats = mpr_repeats_new(), .name = { name, other } };
}

void mpr_named_ranges_free(struct mpr_named_ranges *n)
{
    mpr_repeats_free(n->repeats);
    free(n->which);
    *n = (struct mpr_named_ranges){ .repeats = NULL };
}

uint32_t mpr_named_ranges_which(void *named, const struct mpr_replay *r, uint32_t node)
{
    struct mpr_named_ranges *n = named;
    MPR_REACH(n->which, node, n->nodes);
    for (uint32_t i = 0; !n->which[node] && i < MPR_NAMES_MAX; i++)
        if (n->name[i] && mpr_repeats_named(n->repeats, r, node, n->name[i]))
            n->which[node] = (uint8_t)(i + 1);
    if (!n->which[node]) n->which[node] = NO_NAME;
    const uint32_t repeat = mpr_repeats_of(n->repeats, r, node);
    if (repeat) n->repeats->repeat[repeat].instances++;
    if (n->which[node] == NO_NAME) return 0;
    n->any = true;
    return n->which[node];
}

/* Returns a similar name, or one that has the text after a domain or before '#': for
 * "Optimizer.step" that is "torch:Optimizer.step#AdamW.step". */
static const char *near(const struct mpr_repeats *s, const char *text)
{
    const size_t length = strlen(text);
    struct mpr_nearest nearest = { .text = text };
    for (uint32_t i = 0; i < s->names; i++) {
        mpr_nearest_try(&nearest, s->name[i].unnumbered);
        mpr_nearest_try(&nearest, s->name[i].label);
    }
    for (uint32_t i = 0; length && !nearest.word && i < s->names; i++) {
        const char *name = s->name[i].unnumbered, *colon = strchr(name, ':'),
                   *from = !colon || strncmp(name, text, length) == 0 ? name : colon + 1;
        if (strncmp(from, text, length) == 0 && (!from[length] || from[length] == '#'))
            nearest.word = name;
    }
    return nearest.word;
}

/* Returns the next name that is not listed yet, or NULL: the program's ranges first, then by
 * number of instances. */
static const char *next_name(const struct mpr_repeats *s, const char *const *listed, size_t count)
{
    const struct mpr_repeat *best = NULL;
    for (uint32_t i = 1; i < s->repeats; i++) {
        const struct mpr_repeat *r = &s->repeat[i];
        size_t k = 0;
        while (k < count && strcmp(listed[k], r->name) != 0) k++;
        if (k == count && (!best || r->rank < best->rank ||
                           (r->rank == best->rank && r->instances > best->instances)))
            best = r;
    }
    return best ? best->name : NULL;
}

const char *mpr_named_ranges_hint(const struct mpr_named_ranges *n, struct mpr_arena *arena)
{
    const char *listed[LISTED], *name, *text = "; found: ";
    size_t count = 0;
    for (size_t i = 0; i < MPR_NAMES_MAX && n->name[i]; i++) {
        const char *word = near(n->repeats, n->name[i]);
        if (word) return mpr_arena_format(arena, "; did you mean %s?", word);
    }
    while ((name = next_name(n->repeats, listed, count)) && count < LISTED) {
        text = mpr_arena_format(arena, "%s%s%s", text, count ? "; " : "",
                                mpr_utf8_shortened(arena, name, WIDTH));
        listed[count++] = name;
    }
    if (!count) return "; the log has no ranges";
    return name ? mpr_arena_format(arena, "%s; ...", text) : text;
}

/* ---- instances */

static uint32_t number_of(void *ranges, const struct mpr_replay *r, uint32_t node)
{
    return mpr_repeats_of(ranges, r, node);
}

/* The end of an instance that is not followed is unknown, so its time does not count as covered. */
static void on_begin(void *arg, const struct mpr_replay *r, struct mpr_followed *f)
{
    struct mpr_repeats *s = arg;
    struct mpr_repeat *repeat = &s->repeat[f->range];
    (void)r;
    repeat->sequential += !repeat->newest;
    if (!mpr_follow_is_full(&s->follow)) repeat->newest = f->push;
    if (!repeat->instances) repeat->first_ns = f->begin_ns;
    f->number = ++repeat->instances;
}

static void on_end(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended)
{
    struct mpr_repeats *s = arg;
    struct mpr_repeat *repeat = &s->repeat[f->range];
    (void)ended;
    repeat->last_ns = r->now;
    if (repeat->newest != f->push) return;
    const uint64_t length = r->now - f->begin_ns;
    repeat->newest = 0;
    repeat->covered_ns += length;
    if (length > repeat->longest_ns) repeat->longest_ns = length;
}

/* A heap with a new epoch had a new peak since the previous range event. */
static void before_event(void *arg, const struct mpr_replay *r)
{
    struct mpr_repeats *s = arg;
    mpr_accounts_used(&r->accounts, &s->heaps);
    for (uint32_t i = 0; i < s->heaps.count; i++) {
        struct mpr_repeats_moment *m = &s->moment[s->heaps.code[i]];
        const uint64_t epoch = r->accounts.heap[s->heaps.code[i]].epoch;
        if (m->epoch == epoch) continue;
        m->epoch = epoch;
        m->count = s->follow.count;
        m->is_full = mpr_follow_is_full(&s->follow);
        if (!m->open) m->open = mpr_alloc(MPR_FOLLOW_MAX, sizeof *m->open);
        memcpy(m->open, s->follow.open, m->count * sizeof *m->open);
    }
}

struct mpr_repeats *mpr_repeats_new(void) { return mpr_alloc(1, sizeof(struct mpr_repeats)); }

struct mpr_repeats *mpr_repeats_watch(struct mpr_replay *r)
{
    struct mpr_repeats *s = mpr_repeats_new();
    s->follow = (struct mpr_follow){ .number_of = number_of,
                                     .ranges = s,
                                     .before_event = before_event,
                                     .on_begin = on_begin,
                                     .on_end = on_end,
                                     .arg = s };
    mpr_follow_begin(&s->follow, r);
    return s;
}

void mpr_repeats_end(struct mpr_repeats *s, const struct mpr_replay *r)
{
    mpr_follow_end(&s->follow, r);
    s->thinned = r->count[MPF_OP_FOLDED] != 0;
}

void mpr_repeats_free(struct mpr_repeats *s)
{
    if (!s) return;
    for (int i = 0; i < MPR_HEAPS; i++) free(s->moment[i].open);
    free(s->repeat);
    free(s->of_node);
    free(s->name);
    mpr_index_free(&s->name_of);
    mpr_index_free(&s->number);
    mpr_arena_free(&s->arena);
    free(s);
}

/* ---- the outermost repeated range */

static bool is_better(const struct mpr_repeat *a, const struct mpr_repeat *b)
{
    if (a->rank != b->rank) return a->rank < b->rank;
    if (a->depth != b->depth) return a->depth < b->depth;
    return a->covered_ns > b->covered_ns;
}

bool mpr_repeats_span(uint64_t covered_ns, uint64_t longest_ns, uint64_t whole_ns)
{
    return covered_ns - longest_ns >= (whole_ns - longest_ns) / 2;
}

static bool is_step(const struct mpr_repeat *r)
{
    return !r->rank || mpr_repeats_span(r->covered_ns, r->longest_ns, r->last_ns - r->first_ns);
}

bool mpr_repeats_is_optimizer(const struct mpr_repeat *r)
{
    static const char step[] = "torch:Optimizer.step#";
    return r->rank == 1 && strncmp(r->name, step, strlen(step)) == 0;
}

static bool is_any(const struct mpr_repeat *r) { return r->instances > 0; }

static uint32_t outermost_of(const struct mpr_repeats *s, bool is_one(const struct mpr_repeat *),
                             uint64_t least)
{
    uint64_t most = 0;
    uint32_t best = 0;
    for (uint32_t i = 1; i < s->repeats; i++)
        if (s->repeat[i].sequential >= least && is_one(&s->repeat[i]) &&
            s->repeat[i].covered_ns > most)
            most = s->repeat[i].covered_ns;
    for (uint32_t i = 1; i < s->repeats; i++) {
        const struct mpr_repeat *r = &s->repeat[i];
        if (r->sequential >= least && is_one(r) && r->covered_ns >= most / 2 &&
            (!best || is_better(r, &s->repeat[best])))
            best = i;
    }
    return best;
}

uint32_t mpr_repeats_outermost(const struct mpr_repeats *s)
{
    uint32_t best = outermost_of(s, is_step, MPR_REPEATS_LEAST);
    if (!best) best = outermost_of(s, mpr_repeats_is_optimizer, MPR_REPEATS_LEAST);
    return best ? best : outermost_of(s, is_any, MPR_REPEATS_LEAST);
}

uint32_t mpr_repeats_outermost_with(const struct mpr_repeats *s, uint64_t instances)
{
    const uint32_t outermost = mpr_repeats_outermost(s),
                   inner = outermost_of(s, is_step, instances);
    if (!outermost || s->repeat[outermost].sequential >= instances) return outermost;
    const bool is_most =
        inner && s->repeat[inner].covered_ns >= s->repeat[outermost].covered_ns / 2;
    return is_most ? inner : outermost;
}

const char *mpr_repeats_outermost_name_with(const struct mpr_repeats *s, struct mpr_arena *arena,
                                            uint64_t instances)
{
    const uint32_t repeat = mpr_repeats_outermost_with(s, instances);
    return repeat ? mpr_repeats_name(s, arena, repeat) : NULL;
}

struct mpr_repeats_peak mpr_repeats_at_peak(const struct mpr_repeats *s, uint8_t heap)
{
    const struct mpr_repeats_moment *m = &s->moment[heap];
    const struct mpr_followed *best = NULL;
    const uint32_t outermost = mpr_repeats_outermost(s);
    uint64_t open = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct mpr_followed *f = &m->open[i];
        const struct mpr_repeat *r = &s->repeat[f->range];
        if (f->range == outermost) {
            best = f;
            break;
        }
        if (!s->thinned && r->sequential >= MPR_REPEATS_LEAST &&
            (!best || is_better(r, &s->repeat[best->range])))
            best = f;
    }
    for (size_t i = 0; best && i < m->count; i++) open += m->open[i].range == best->range;
    return (struct mpr_repeats_peak){ best, open, m->is_full };
}
