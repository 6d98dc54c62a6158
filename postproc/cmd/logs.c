#include "logs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "basename.h"
#include "heap_names.h"
#include "units.h"
#include "utf8.h"
#include "who.h"

enum { KEY_PID = 768, KEY_RANK, KEY_RUN, LISTED = 8, ARGUMENTS = 8, TITLE = 60 };

static const struct argp_option options[] = {
    { "pid", KEY_PID, "N", 0, "Use only the logs of process N", 10 },
    { "rank", KEY_RANK, "N", 0, "Use only the logs of rank N", 10 },
    { 0 },
};
static const struct argp_option all_options[] = {
    { "pid", KEY_PID, "N", 0, "Use only the logs of process N", 10 },
    { "rank", KEY_RANK, "N", 0, "Use only the logs of rank N", 10 },
    { "run", KEY_RUN, "ID", 0, "Use only the logs of the run with that id", 10 },
    { 0 },
};

static error_t parse_which(int key, char *arg, struct argp_state *state)
{
    struct mpr_logs *logs = state->input;
    switch (key) {
    case KEY_PID:
        if (!*arg || arg[strspn(arg, "0123456789")])
            argp_error(state, "--pid=%s: a number is wanted", arg);
        logs->pid = arg;
        return 0;
    case KEY_RANK: logs->rank = arg; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct mpr_logs *logs = state->input;
    switch (key) {
    case ARGP_KEY_ARG: logs->failed |= !mpr_paths_add(&logs->paths, arg); return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, MPR_NEED_LOG); return 0;
    case KEY_RUN: logs->run = arg; return 0;
    default: return parse_which(key, arg, state);
    }
}

const struct argp mpr_logs_which_argp = { .options = options, .parser = parse_which };
const struct argp mpr_logs_argp = { .options = all_options,
                                    .parser = parse,
                                    .args_doc = "LOG|DIR..." };

/* ---- whose they are */

static const char *title(struct mpr_arena *arena, const struct mpr_process_info *who)
{
    const char *text = who->argc ? mpr_basename(who->argv[0]) : "unknown program";
    for (size_t i = 1; i < who->argc && i < ARGUMENTS; i++)
        text = mpr_arena_format(arena, "%s %s", text, who->argv[i]);
    return mpr_utf8_shortened(arena, text, TITLE);
}

/* "rank 3, pid 4242" */
static const char *number(struct mpr_arena *arena, const struct mpr_process_info *who)
{
    if (!*who->rank) return mpr_arena_format(arena, "pid %" PRIu64, who->pid);
    return mpr_arena_format(arena, "rank %s, pid %" PRIu64, who->rank, who->pid);
}

/* "rank 3, pid 4242 of run 5f0c0ab3" */
static const char *named(struct mpr_arena *arena, const struct mpr_process_info *who)
{
    const char *text = number(arena, who);
    return *who->run ? mpr_arena_format(arena, "%s of run %s", text, who->run) : text;
}

/* ---- --pid, --rank and --run */

/* The processes that there are, for who asks for another. */
struct others {
    struct mpr_arena arena;
    const char *text, *host[LISTED];
    uint64_t pid[LISTED];
    size_t count;
    bool runs; /* with the runs that they are of */
};

/* A process that executed other programs has a log of each. */
static void add_other(struct others *o, const struct mpr_process_info *who)
{
    for (size_t i = 0; i < o->count && i < LISTED; i++)
        if (o->pid[i] == who->pid && strcmp(o->host[i], who->host) == 0) return;
    if (o->count < LISTED) {
        o->text = mpr_arena_format(&o->arena, "%s%s%s", o->text, *o->text ? "; " : "",
                                   o->runs ? named(&o->arena, who) : number(&o->arena, who));
        o->pid[o->count] = who->pid;
        o->host[o->count] = who->host;
    }
    o->count++;
}

static void tell_none(struct others *o, const struct mpr_logs *logs)
{
    if (o->count > LISTED)
        o->text = mpr_arena_format(&o->arena, "%s; and %zu more", o->text, o->count - LISTED);
    mpr_cmd_say("no log of%s%s%s%s%s%s; there are: %s", logs->run ? " run " : "",
                logs->run ? logs->run : "", logs->rank ? " rank " : "",
                logs->rank ? logs->rank : "", logs->pid ? " pid " : "", logs->pid ? logs->pid : "",
                o->text);
}

static bool is_wanted(const struct mpr_logs *logs, const struct mpr_process_info *who)
{
    if (logs->run && strcmp(logs->run, who->run) != 0) return false;
    if (logs->pid && strtoull(logs->pid, NULL, 10) != who->pid) return false;
    return !logs->rank || strcmp(logs->rank, who->rank) == 0;
}

/* False for one that cannot be read, too: that is told of. */
static bool is_chosen(struct mpr_logs *logs, const char *path, struct others *others)
{
    struct mpr_process_info who;
    struct mpr_error error;
    if (mpr_who_read(&who, &others->arena, path, &error) != 0) {
        mpr_cmd_error(&error);
        logs->failed = true;
        return false;
    }
    add_other(others, &who);
    return is_wanted(logs, &who);
}

static void choose_processes(struct mpr_logs *logs)
{
    struct others others = { .text = "", .runs = logs->run };
    bool *chosen = mpr_arena_alloc(&others.arena, logs->paths.count * sizeof *chosen);
    for (size_t i = 0; i < logs->paths.count; i++)
        chosen[i] = is_chosen(logs, logs->paths.at[i], &others);
    mpr_paths_keep(&logs->paths, chosen);
    if (!logs->paths.count && others.count) tell_none(&others, logs);
    mpr_arena_free(&others.arena);
}

/* ---- --heap */

static void tell_no_heap(const struct mpr_logs *logs, const struct mpr_who_heaps *heaps)
{
    struct mpr_arena arena = { 0 };
    const char *text = "";
    for (unsigned i = 0; i < MPR_WHO_HEAPS; i++)
        if (heaps->there[i])
            text = mpr_arena_format(&arena, "%s%s%s", text, *text ? ", " : "",
                                    mpr_heap_name((uint8_t)i));
    if (*text) mpr_cmd_say("no heap %s; there are: %s", mpr_heap_name(logs->heap), text);
    else mpr_cmd_say("no heap %s: no allocations were recorded", mpr_heap_name(logs->heap));
    mpr_arena_free(&arena);
}

/* Those that cannot be read go: they are told of. */
static bool any_has_heap(struct mpr_logs *logs, struct mpr_who_heaps *heaps, bool *readable)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_error error;
    int has = 0;
    for (size_t i = 0; i < logs->paths.count; i++) {
        if (has <= 0)
            has = mpr_who_has_heap(logs->paths.at[i], logs->heap, heaps, &progress, &error);
        readable[i] = has >= 0;
        if (has >= 0) continue;
        mpr_cmd_error(&error);
        logs->failed = true;
    }
    mpr_bar_clear();
    return has > 0;
}

static void check_heap(struct mpr_logs *logs)
{
    struct mpr_arena arena = { 0 };
    struct mpr_who_heaps heaps = { 0 };
    bool *kept = mpr_arena_alloc(&arena, logs->paths.count * sizeof *kept);
    const bool has = any_has_heap(logs, &heaps, kept);
    mpr_paths_keep(&logs->paths, kept);
    if (has || !logs->paths.count) return mpr_arena_free(&arena);
    tell_no_heap(logs, &heaps);
    memset(kept, 0, logs->paths.count * sizeof *kept);
    mpr_paths_keep(&logs->paths, kept);
    mpr_arena_free(&arena);
}

bool mpr_logs_choose(struct mpr_logs *logs)
{
    if (logs->pid || logs->rank || logs->run) choose_processes(logs);
    if (logs->heap && !logs->heap_elsewhere && logs->paths.count) check_heap(logs);
    return logs->paths.count;
}

/* ---- one of several */

struct found {
    size_t at;
    struct mpr_who_end end;
    bool any;
};

static struct found find_one(struct mpr_logs *logs)
{
    const struct mpr_progress progress = mpr_bar();
    struct found found = { 0 };
    struct mpr_error error;
    struct mpr_who_end end;
    for (size_t i = 0; i < logs->paths.count; i++) {
        if (mpr_who_ended(&end, logs->paths.at[i], logs->heap, &progress, &error) != 0) {
            mpr_cmd_error(&error);
            logs->failed = true;
        } else if (!found.any || mpr_who_rather(&end, &found.end))
            found = (struct found){ i, end, true };
    }
    mpr_bar_clear();
    return found;
}

static const char *why(struct mpr_arena *arena, const struct mpr_logs *logs,
                       const struct mpr_who_end *end)
{
    struct mpr_number size;
    const bool has = logs->heap && !end->lacks;
    const char *of =
        has ? mpr_arena_format(arena, " of those with %s", mpr_heap_name(logs->heap)) : "";
    if (end->failed != MPR_NEVER)
        return mpr_arena_format(arena, "the first%s that memory ran out for", of);
    return mpr_arena_format(arena, "the largest peak%s, %s", of, mpr_units_size(&size, end->peak));
}

/* Nobody can choose between the programs that one process executed. */
static bool is_one_process(const struct mpr_logs *logs)
{
    struct others others = { .text = "" };
    struct mpr_process_info who;
    struct mpr_error error;
    for (size_t i = 0; i < logs->paths.count && others.count < 2; i++)
        if (mpr_who_read(&who, &others.arena, logs->paths.at[i], &error) == 0)
            add_other(&others, &who);
    mpr_arena_free(&others.arena);
    return others.count == 1;
}

static void tell_found(const struct mpr_logs *logs, const struct found *found)
{
    struct mpr_arena arena = { 0 };
    struct mpr_process_info who;
    struct mpr_error error;
    if (mpr_who_read(&who, &arena, logs->paths.at[found->at], &error) == 0)
        mpr_cmd_say("%zu logs; this is %s, %s (%s); --pid%s choose%s another", logs->paths.count,
                    number(&arena, &who), title(&arena, &who), why(&arena, logs, &found->end),
                    *who.rank ? " or --rank" : "", *who.rank ? "" : "s");
    mpr_arena_free(&arena);
}

const char *mpr_logs_one(struct mpr_logs *logs)
{
    if (!mpr_logs_choose(logs)) return NULL;
    if (logs->paths.count == 1) return logs->paths.at[0];
    const struct found found = find_one(logs);
    if (!found.any) return NULL;
    if (!is_one_process(logs)) tell_found(logs, &found);
    return logs->paths.at[found.at];
}

void mpr_logs_keep_one(struct mpr_logs *logs)
{
    struct mpr_arena arena = { 0 };
    const char *one = mpr_logs_one(logs);
    bool *kept = mpr_arena_alloc(&arena, logs->paths.count * sizeof *kept);
    for (size_t i = 0; i < logs->paths.count; i++) kept[i] = logs->paths.at[i] == one;
    mpr_paths_keep(&logs->paths, kept);
    mpr_arena_free(&arena);
}

void mpr_logs_each(struct mpr_logs *logs, mpr_log_add *add, void *to)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_error error;
    for (size_t i = 0; i < logs->paths.count; i++) {
        if (add(to, logs->paths.at[i], &progress, &error) == 0) continue;
        mpr_cmd_error(&error);
        logs->failed = true;
    }
    mpr_bar_clear();
}

int mpr_logs_close(struct mpr_logs *logs, int status)
{
    mpr_paths_free(&logs->paths);
    return logs->failed ? MPR_EXIT_FAILURE : status;
}
