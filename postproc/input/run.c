#include "run.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amount.h"
#include "basename.h"
#include "bisect.h"
#include "file.h"

#define NAME      "memprof.run"
#define BYTES_MAX (64u << 20) /* a longer record is not read further */
/* The kernel gives the start of a process in steps of 10 ms. */
#define START_STEP_NS UINT64_C(20000000)
/* The wall clock may be set during a run, but by less than this.  After another boot its distance
 * to CLOCK_MONOTONIC differs by more. */
#define CLOCK_DRIFT_NS INT64_C(3600000000000)

/* ---- lines */

/* A launcher.  A line names its launcher, or belongs to that of the newest `run` line before it. */
struct launcher {
    char host[512], run[512];
};

struct record {
    FILE *file; /* NULL without a record */
    size_t bytes;
    char line[2048];
    struct launcher newest;
};

static void open_record(struct record *r, const char *log_path)
{
    char path[PATH_MAX];
    struct stat st;
    const int folder = (int)(mpr_basename(log_path) - log_path),
              length = snprintf(path, sizeof path, "%.*s" NAME, folder, log_path);
    const int fd =
        length < (int)sizeof path ? mpr_file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &st) : -1;
    *r = (struct record){ .file = NULL };
    if (fd >= 0 && mpr_file_trusted(&st, log_path)) r->file = fdopen(fd, "r");
    if (!r->file && fd >= 0) close(fd);
}

/* Returns the value of "key=" in a line, up to the next space, or NULL. */
static const char *value(const char *line, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = line; (at = strchr(at, ' '));) {
        if (strncmp(++at, key, length) == 0 && at[length] == '=') return at + length + 1;
    }
    return NULL;
}

static uint64_t number(const char *line, const char *key)
{
    const char *text = value(line, key);
    return text ? strtoull(text, NULL, 10) : 0;
}

/* Returns true if the text up to the next space is this word. */
static bool is_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    return text && strncmp(text, word, length) == 0 && (text[length] == ' ' || text[length] == 0);
}

static void copy_value(char out[512], const char *text)
{
    snprintf(out, 512, "%.*s", text ? (int)strcspn(text, " ") : 0, text ? text : "");
}

/* Reads the next line.  Returns false at the end of the record. */
static bool next_line(struct record *r)
{
    if (!r->file || r->bytes >= BYTES_MAX || !fgets(r->line, sizeof r->line, r->file)) return false;
    r->bytes += strlen(r->line);
    r->line[strcspn(r->line, "\n")] = 0;
    if (strncmp(r->line, "run ", 4) == 0) {
        copy_value(r->newest.host, value(r->line, "host"));
        copy_value(r->newest.run, value(r->line, "run"));
    }
    return true;
}

/* Returns the launcher of the current line. */
static struct launcher launcher_of(const struct record *r)
{
    struct launcher own = r->newest;
    if (value(r->line, "host")) copy_value(own.host, value(r->line, "host"));
    if (value(r->line, "run")) copy_value(own.run, value(r->line, "run"));
    return own;
}

/* ---- the end of a process */

static bool is_end_of(const char *line, const struct mpr_header *h)
{
    const uint64_t mono = number(line, "mono"), began = number(line, "began");
    const int64_t drift =
        (int64_t)(number(line, "real") - mono) - (int64_t)(h->start.real - h->start.mono);
    return h->pid && number(line, "pid") == h->pid && began <= h->start.mono + START_STEP_NS &&
           h->start.mono <= mono && drift > -CLOCK_DRIFT_NS && drift < CLOCK_DRIFT_NS;
}

static struct mpr_run_end read_end(const char *line)
{
    const char *oom = value(line, "oom");
    struct mpr_run_end end = { .known = true,
                               .mono = number(line, "mono"),
                               .real = number(line, "real"),
                               .rss = number(line, "rss") };
    end.oom = is_word(oom, "kernel")   ? MPR_RUN_OOM_KERNEL
              : is_word(oom, "cgroup") ? MPR_RUN_OOM_CGROUP
                                       : MPR_RUN_NO_OOM;
    if (value(line, "exit")) end.how = MPR_RUN_EXIT, end.status = (int)(number(line, "exit") & 255);
    else if (value(line, "signal"))
        end.how = MPR_RUN_SIGNAL, end.status = (int)(number(line, "signal") & 127);
    return end;
}

struct mpr_run_end mpr_run_find(const char *log_path, const struct mpr_header *header)
{
    struct mpr_run_end found = { .known = false };
    const char *host = mpr_header_get(header, "host"), *run = mpr_header_get(header, "run");
    struct record r;
    if (!host) return found;
    open_record(&r, log_path);
    while (next_line(&r)) {
        if (strncmp(r.line, "end ", 4) != 0 || !is_end_of(r.line, header)) continue;
        const struct launcher launcher = launcher_of(&r);
        if (strcmp(launcher.host, host) == 0 && strcmp(launcher.run, run ? run : "") == 0)
            found = read_end(r.line);
    }
    if (r.file) fclose(r.file);
    return found;
}

/* ---- processes without a log */

MPR_COMPARE(by_pid, struct mpr_run_process, mpr_compare(a->pid, b->pid))

static bool has_log(const char *line, const char *host, const struct mpr_run_process *known,
                    size_t count)
{
    const uint64_t pid = number(line, "pid"), mono = number(line, "mono"),
                   real = number(line, "real"), lived = mono - number(line, "began");
    const uint64_t began = real > lived ? real - lived : 0;
    for (size_t k = MPR_COUNT_FIRST(i, count, known[i].pid < pid); k < count && known[k].pid == pid;
         k++)
        if (is_word(host, known[k].host) && known[k].start + START_STEP_NS >= began &&
            known[k].start <= real)
            return true;
    return false;
}

static void add_processes(struct mpr_run_without_log *sum, const struct mpr_run_without_log *more)
{
    sum->processes += more->processes;
    sum->unseen += more->unseen;
    if (__builtin_add_overflow(sum->rss, more->rss, &sum->rss)) sum->rss = UINT64_MAX;
    if (more->largest > sum->largest) sum->largest = more->largest;
}

/* Without a run id the processes of a launcher count only if one of them has a log, because
 * otherwise the logs of that launcher were removed. */
struct mpr_run_without_log mpr_run_without_log(const char *log_path, const char *run,
                                               struct mpr_run_process *known, size_t count)
{
    struct mpr_run_without_log all = { 0 }, of_launcher = { 0 };
    bool has_logs = *run;
    struct record r;
    if (count) qsort(known, count, sizeof *known, by_pid);
    open_record(&r, log_path);
    while (next_line(&r)) {
        if (strncmp(r.line, "run ", 4) == 0) {
            if (has_logs) add_processes(&all, &of_launcher);
            of_launcher = (struct mpr_run_without_log){ 0 };
            has_logs = *run;
            continue;
        }
        const struct launcher launcher = launcher_of(&r);
        const uint64_t rss = number(r.line, "rss");
        if (strcmp(launcher.run, run) != 0) continue;
        if (strncmp(r.line, "unseen ", 7) == 0) of_launcher.unseen++;
        if (strncmp(r.line, "end ", 4) != 0) continue;
        if (has_log(r.line, launcher.host, known, count)) has_logs = true;
        else add_processes(&of_launcher, &(struct mpr_run_without_log){ 1, 0, rss, rss });
    }
    if (has_logs) add_processes(&all, &of_launcher);
    if (r.file) fclose(r.file);
    return all;
}
