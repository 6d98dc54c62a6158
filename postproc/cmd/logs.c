#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc.h"
#include "arena.h"
#include "basename.h"
#include "cmd.h"
#include "heap_names.h"
#include "summary.h"
#include "units.h"
#include "utf8.h"

/* ---- paths */

/* The identity of a file, so that it is listed only once.  A missing file has none, and reading it
 * will fail with a message. */
struct mpr_file {
    bool known;
    dev_t dev;
    ino_t ino;
};

static void append(struct mpr_paths *paths, const char *path)
{
    struct stat st;
    struct mpr_file file = { 0 };
    if (stat(path, &st) == 0) file = (struct mpr_file){ true, st.st_dev, st.st_ino };
    for (size_t i = 0; file.known && i < paths->count; i++)
        if (paths->file[i].known && paths->file[i].dev == file.dev &&
            paths->file[i].ino == file.ino)
            return;
    MPR_GROW(paths->at, paths->count, paths->cap);
    paths->file = mpr_resize(paths->file, paths->cap, sizeof *paths->file);
    paths->file[paths->count] = file;
    paths->at[paths->count++] = mpr_text_copy(path);
}

bool mpr_path_ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* Logs, and memory snapshots of PyTorch. */
static int is_log(const struct dirent *entry)
{
    return mpr_path_ends_with(entry->d_name, ".zst") ||
           mpr_path_ends_with(entry->d_name, ".pickle");
}

static bool complain(const char *path, const char *what)
{
    mpr_cmd_say("%s: %s", path, what);
    return false;
}

static bool add_directory(struct mpr_paths *paths, const char *directory)
{
    struct dirent **entry;
    char path[PATH_MAX];
    bool good = true;
    const int count = scandir(directory, &entry, is_log, alphasort);
    if (count < 0 && !paths->may_be_missing) return complain(directory, strerror(errno));
    for (int i = 0; i < count; i++) {
        const int length = snprintf(path, sizeof path, "%s/%s", directory, entry[i]->d_name);
        if (length < (int)sizeof path) append(paths, path);
        else good = complain(directory, strerror(ENAMETOOLONG));
        free(entry[i]);
    }
    if (count >= 0) free(entry);
    return count > 0 || paths->may_be_missing
               ? good
               : complain(directory, "no logs (*.zst) in this directory");
}

bool mpr_paths_add(struct mpr_paths *paths, const char *argument)
{
    char log[PATH_MAX];
    struct stat st;
    const bool belongs =
        mpr_path_ends_with(argument, ".zst.journal") || mpr_path_ends_with(argument, ".zst.fold");
    if (belongs && strlen(argument) < sizeof log) { /* a journal or a fold is read with its log */
        snprintf(log, sizeof log, "%.*s", (int)(strrchr(argument, '.') - argument), argument);
        if (stat(log, &st) == 0) argument = log;
    }
    if (stat(argument, &st) == 0 && S_ISDIR(st.st_mode)) return add_directory(paths, argument);
    append(paths, argument);
    return true;
}

/* Removes the paths that are not marked. */
static void keep(struct mpr_paths *paths, const bool *kept)
{
    size_t count = 0;
    for (size_t i = 0; i < paths->count; i++) {
        if (!kept[i]) {
            free(paths->at[i]);
            continue;
        }
        paths->at[count] = paths->at[i];
        paths->file[count++] = paths->file[i];
    }
    paths->count = count;
}

void mpr_paths_free(struct mpr_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) free(paths->at[i]);
    free(paths->at);
    free(paths->file);
}

/* ---- options */

static void set_pid(void *value, const struct mpr_given *given)
{
    const char *text = given->text;
    if (!*text || text[strspn(text, "0123456789")]) mpr_option_invalid(given, "a number");
    mpr_set_text(value, given);
}

const struct mpr_option mpr_logs_options[] = {
    { "run", 0, "ID", "use only the logs of the run with this id",
      MPR_TO_TEXT(struct mpr_logs, run) },
    { "pid", 0, "N", "use only the logs of process N",
      MPR_TO(set_pid, const char *, struct mpr_logs, pid) },
    { "rank", 0, "N", "use only the logs of rank N", MPR_TO_TEXT(struct mpr_logs, rank) },
    { 0 },
};

/* ---- messages */

/* Prints the error of a log that cannot be read. */
static void fail(struct mpr_logs *logs, const struct mpr_error *error)
{
    mpr_cmd_error(error);
    logs->failed = true;
}

/* "rank 3, pid 4242" */
static const char *number_of(struct mpr_arena *arena, const struct mpr_process_info *process)
{
    if (!*process->rank) return mpr_arena_format(arena, "pid %" PRIu64, process->pid);
    return mpr_arena_format(arena, "rank %s, pid %" PRIu64, process->rank, process->pid);
}

/* ---- --pid, --rank and --run */

enum { MAX_LISTED = 8 };

/* The processes of some logs, as a list for a message. */
struct process_list {
    struct mpr_arena arena;
    const char *text, *host[MAX_LISTED];
    uint64_t pid[MAX_LISTED];
    size_t count;
};

/* A process that executed other programs has several logs, and is listed once. */
static void list_process(struct process_list *list, const struct mpr_process_info *process,
                         bool with_run)
{
    for (size_t i = 0; i < list->count && i < MAX_LISTED; i++)
        if (list->pid[i] == process->pid && strcmp(list->host[i], process->host) == 0) return;
    if (list->count < MAX_LISTED) {
        const bool run = with_run && *process->run;
        list->text = mpr_arena_format(&list->arena, "%s%s%s%s%s", list->text,
                                      *list->text ? "; " : "", number_of(&list->arena, process),
                                      run ? " of run " : "", run ? process->run : "");
        list->pid[list->count] = process->pid;
        list->host[list->count] = process->host;
    }
    list->count++;
}

static void select_processes(struct mpr_logs *logs)
{
    const char *run = logs->run, *rank = logs->rank, *pid = logs->pid;
    struct process_list list = { .text = "" };
    bool *kept = mpr_arena_alloc(&list.arena, logs->paths.count * sizeof *kept);
    for (size_t i = 0; i < logs->paths.count; i++) {
        struct mpr_process_info process;
        struct mpr_error error;
        if (mpr_log_identity_read(&process, &list.arena, logs->paths.at[i], &error) != 0) {
            fail(logs, &error);
            continue;
        }
        list_process(&list, &process, run);
        kept[i] = (!run || strcmp(run, process.run) == 0) &&
                  (!rank || strcmp(rank, process.rank) == 0) &&
                  (!pid || strtoull(pid, NULL, 10) == process.pid);
    }
    keep(&logs->paths, kept);
    if (!logs->paths.count && list.count) {
        if (list.count > MAX_LISTED)
            list.text = mpr_arena_format(&list.arena, "%s; and %zu more", list.text,
                                         list.count - MAX_LISTED);
        mpr_cmd_say("no log of%s%s%s%s%s%s; found: %s", run ? " run " : "", run ? run : "",
                    rank ? " rank " : "", rank ? rank : "", pid ? " pid " : "", pid ? pid : "",
                    list.text);
    }
    mpr_arena_free(&list.arena);
}

/* ---- --heap */

/* Removes logs that cannot be read, and all logs if none has the heap.  Stops reading at the first
 * log that has it. */
static void check_heap(struct mpr_logs *logs)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_arena arena = { 0 };
    struct mpr_log_heaps heaps = { 0 };
    struct mpr_error error;
    bool *kept = mpr_arena_alloc(&arena, logs->paths.count * sizeof *kept);
    int has = 0;
    for (size_t i = 0; i < logs->paths.count; i++) {
        if (has <= 0)
            has = mpr_log_has_heap(logs->paths.at[i], logs->heap, &heaps, &progress, &error);
        kept[i] = has >= 0;
        if (has < 0) fail(logs, &error);
    }
    mpr_bar_clear();
    keep(&logs->paths, kept);
    if (has <= 0 && logs->paths.count) {
        const char *found = "", *name = mpr_heap_name(logs->heap);
        for (unsigned i = 0; i < MPR_LOG_HEAPS; i++)
            if (heaps.there[i])
                found = mpr_arena_format(&arena, "%s%s%s", found, *found ? ", " : "",
                                         mpr_heap_name((uint8_t)i));
        mpr_cmd_say("no log has the heap %s%s%s", name,
                    *found ? "; found: " : ": no allocations were recorded", found);
        memset(kept, 0, logs->paths.count * sizeof *kept);
        keep(&logs->paths, kept);
    }
    mpr_arena_free(&arena);
}

bool mpr_logs_choose(struct mpr_logs *logs)
{
    for (size_t i = 0; i < logs->paths.count; i++) append(&logs->given, logs->paths.at[i]);
    if (logs->pid || logs->rank || logs->run) select_processes(logs);
    if (logs->heap && !logs->heap_may_be_absent && logs->paths.count) check_heap(logs);
    return logs->paths.count;
}

/* ---- one of several logs */

struct candidate {
    const char *path;
    struct mpr_process_info process;
    struct mpr_log_outcome end;
};

static void say_which(const struct mpr_logs *logs, const struct candidate *log)
{
    struct mpr_arena arena = { 0 };
    const struct mpr_process_info *process = &log->process;
    const struct mpr_log_outcome *end = &log->end;
    struct mpr_number size;
    const bool has_heap = logs->heap && !end->lacks;
    enum { MAX_ARGUMENTS = 8, MAX_LENGTH = 60 };
    const char *command = process->argc ? mpr_basename(process->argv[0]) : "unknown program";
    for (size_t i = 1; i < process->argc && i < MAX_ARGUMENTS; i++)
        command = mpr_arena_format(&arena, "%s %s", command, process->argv[i]);
    const char *among =
        has_heap ? mpr_arena_format(&arena, " among those with %s", mpr_heap_name(logs->heap)) : "";
    const char *reason = end->failed != MPR_NEVER
                             ? mpr_arena_format(&arena, "the first%s that ran out of memory", among)
                             : mpr_arena_format(&arena, "the largest peak%s, %s", among,
                                                mpr_units_size(&size, end->peak));
    mpr_cmd_say("%zu logs; showing %s, %s (%s); --pid%s choose%s another", logs->paths.count,
                number_of(&arena, process), mpr_utf8_shortened(&arena, command, MAX_LENGTH), reason,
                *process->rank ? " or --rank" : "", *process->rank ? "" : "s");
    mpr_arena_free(&arena);
}

/* Returns the start of the first process of the run. */
static uint64_t start_of(const struct candidate *log, size_t count, const char *run)
{
    uint64_t start = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        if (strcmp(log[i].process.run, run) == 0 && log[i].process.start_ns < start)
            start = log[i].process.start_ns;
    return start;
}

/* Chooses a log of the newest run that ran out of memory, as the command oom does, or of any run if
 * none did. */
static const struct candidate *choose_one(const struct candidate *log, size_t count)
{
    const char *newest = NULL;
    const struct candidate *chosen = NULL;
    for (size_t i = 0; i < count; i++) {
        const char *run = log[i].process.run;
        if (log[i].end.failed == MPR_NEVER || log[i].end.lacks) continue;
        if (!newest || start_of(log, count, run) > start_of(log, count, newest)) newest = run;
    }
    for (size_t i = 0; i < count; i++) {
        if (newest && strcmp(log[i].process.run, newest) != 0) continue;
        if (!chosen || mpr_log_outcome_precedes(&log[i].end, &chosen->end)) chosen = &log[i];
    }
    return chosen;
}

const char *mpr_logs_one(struct mpr_logs *logs)
{
    if (!mpr_logs_choose(logs)) return NULL;
    if (logs->paths.count == 1) return logs->paths.at[0];
    const struct mpr_progress progress = mpr_bar();
    struct mpr_arena arena = { 0 };
    struct candidate *log = mpr_arena_alloc(&arena, logs->paths.count * sizeof *log);
    struct mpr_error error;
    size_t count = 0;
    for (size_t i = 0; i < logs->paths.count; i++) {
        struct candidate *c = &log[count];
        c->path = logs->paths.at[i];
        if (mpr_log_identity_read(&c->process, &arena, c->path, &error) != 0 ||
            mpr_log_outcome_read(&c->end, c->path, logs->heap, &progress, &error) != 0)
            fail(logs, &error);
        else count++;
    }
    mpr_bar_clear();
    const struct candidate *chosen = choose_one(log, count);
    const char *path = chosen ? chosen->path : NULL;
    /* No option selects among the logs of one process that executed several programs. */
    bool one = true;
    for (size_t i = 0; i < count; i++)
        one &= log[i].process.pid == log->process.pid &&
               strcmp(log[i].process.host, log->process.host) == 0;
    if (path && !one) say_which(logs, chosen);
    mpr_arena_free(&arena);
    return path;
}

/* ---- all logs */

void mpr_logs_each(struct mpr_logs *logs, mpr_log_add *add, void *to)
{
    const struct mpr_progress progress = mpr_bar();
    struct mpr_error error;
    for (size_t i = 0; i < logs->paths.count; i++)
        if (add(to, logs->paths.at[i], &progress, &error) != 0) fail(logs, &error);
    mpr_bar_clear();
}

int mpr_logs_close(struct mpr_logs *logs, int status)
{
    mpr_paths_free(&logs->paths);
    mpr_paths_free(&logs->given);
    return logs->failed ? MPR_EXIT_FAILURE : status;
}
