#include "run.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

#define NAME      "memprof.run"
#define BYTES_MAX (64u << 20) /* what more there is is not read */
/* The kernel says in steps of 10 ms when a process began */
#define STEP_NS UINT64_C(20000000)
/* So much may the wall clock be set; after another boot it is another time */
#define CLOCKS_NS INT64_C(3600000000000)

/* The value of "key=" in a line, up to the next space; NULL: none. */
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

static bool is(const char *text, const char *word)
{
    const size_t length = strlen(word);
    return text && strncmp(text, word, length) == 0 && (text[length] == ' ' || text[length] == 0);
}

/* A launcher: each line names it, or belongs to the newest `run` line before. */
struct launcher {
    char host[512], run[512];
};

static void copy_value(char out[512], const char *text)
{
    snprintf(out, 512, "%.*s", text ? (int)strcspn(text, " ") : 0, text ? text : "");
}

static void begin_launcher(struct launcher *l, const char *line)
{
    copy_value(l->host, value(line, "host"));
    copy_value(l->run, value(line, "run"));
}

static struct launcher launcher_of(const char *line, const struct launcher *newest)
{
    struct launcher own = *newest;
    if (value(line, "host")) copy_value(own.host, value(line, "host"));
    if (value(line, "run")) copy_value(own.run, value(line, "run"));
    return own;
}

static bool is_of(const char *line, const struct mpr_header *h)
{
    const uint64_t mono = number(line, "mono"), began = number(line, "began");
    const int64_t drift =
        (int64_t)(number(line, "real") - mono) - (int64_t)(h->start.real - h->start.mono);
    return h->pid && number(line, "pid") == h->pid && began <= h->start.mono + STEP_NS &&
           h->start.mono <= mono && drift > -CLOCKS_NS && drift < CLOCKS_NS;
}

static struct mpr_run_end read_end(const char *line)
{
    const char *oom = value(line, "oom");
    struct mpr_run_end end = { .known = true,
                               .mono = number(line, "mono"),
                               .real = number(line, "real"),
                               .rss = number(line, "rss") };
    end.oom = is(oom, "kernel")   ? MPR_RUN_OOM_KERNEL
              : is(oom, "cgroup") ? MPR_RUN_OOM_CGROUP
                                  : MPR_RUN_NO_OOM;
    if (value(line, "exit")) end.how = MPR_RUN_EXIT, end.status = (int)(number(line, "exit") & 255);
    else if (value(line, "signal"))
        end.how = MPR_RUN_SIGNAL, end.status = (int)(number(line, "signal") & 127);
    return end;
}

static FILE *open_beside(const char *log_path)
{
    char path[PATH_MAX];
    struct stat st;
    const char *slash = strrchr(log_path, '/');
    const int length =
        snprintf(path, sizeof path, "%.*s" NAME, slash ? (int)(slash + 1 - log_path) : 0, log_path);
    const int fd =
        length < (int)sizeof path ? mpr_file_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &st) : -1;
    FILE *f = fd >= 0 && mpr_file_trusted(&st, log_path) ? fdopen(fd, "r") : NULL;
    if (!f && fd >= 0) close(fd);
    return f;
}

struct mpr_run_end mpr_run_find(const char *log_path, const struct mpr_header *header)
{
    struct mpr_run_end found = { .known = false };
    const char *host = mpr_header_get(header, "host"), *run = mpr_header_get(header, "run");
    char line[2048];
    struct launcher newest = { .host = "" };
    size_t bytes = 0;
    FILE *f = host ? open_beside(log_path) : NULL;
    while (f && bytes < BYTES_MAX && fgets(line, sizeof line, f)) {
        bytes += strlen(line);
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "run ", 4) == 0) begin_launcher(&newest, line);
        if (strncmp(line, "end ", 4) != 0 || !is_of(line, header)) continue;
        const struct launcher of = launcher_of(line, &newest);
        if (strcmp(of.host, host) == 0 && strcmp(of.run, run ? run : "") == 0)
            found = read_end(line);
    }
    if (f) fclose(f);
    return found;
}

/* ---- who has no log */

static int by_pid(const void *left, const void *right)
{
    const struct mpr_run_process *a = left, *b = right;
    return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static bool has_log(const char *line, const char *host, const struct mpr_run_process *known,
                    size_t count)
{
    const uint64_t pid = number(line, "pid"), mono = number(line, "mono"),
                   real = number(line, "real"), lived = mono - number(line, "began");
    const uint64_t began = real > lived ? real - lived : 0;
    size_t low = 0, high = count;
    while (low < high) { /* the first of that number */
        const size_t middle = low + (high - low) / 2;
        if (known[middle].pid < pid) low = middle + 1;
        else high = middle;
    }
    for (; low < count && known[low].pid == pid; low++)
        if (is(host, known[low].host) && known[low].start + STEP_NS >= began &&
            known[low].start <= real)
            return true;
    return false;
}

static void add(uint64_t *sum, uint64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum)) *sum = UINT64_MAX;
}

static void add_rest(struct mpr_run_rest *rest, const struct mpr_run_rest *more)
{
    rest->processes += more->processes;
    rest->unseen += more->unseen;
    add(&rest->rss, more->rss);
    if (more->largest > rest->largest) rest->largest = more->largest;
}

/* Counts the processes without a log while the record is read.  Lines without a run id belong to
 * the newest launcher, and count only if some process of that launcher has a log: else its logs are
 * gone. */
struct resting {
    const char *run; /* its id, "": none */
    const struct mpr_run_process *known;
    size_t count;
    struct launcher newest;
    struct mpr_run_rest all, since; /* since: of the newest launcher */
    bool has_logs;
};

static void end_launcher(struct resting *r)
{
    if (*r->run || r->has_logs) add_rest(&r->all, &r->since);
    r->since = (struct mpr_run_rest){ 0 };
    r->has_logs = false;
}

static void take(struct resting *r, const char *line)
{
    const struct launcher of = launcher_of(line, &r->newest);
    const uint64_t rss = number(line, "rss");
    if (strcmp(of.run, r->run) != 0) return;
    if (strncmp(line, "unseen ", 7) == 0) r->since.unseen++;
    if (strncmp(line, "end ", 4) != 0) return;
    if (has_log(line, of.host, r->known, r->count)) r->has_logs = true;
    else add_rest(&r->since, &(struct mpr_run_rest){ 1, 0, rss, rss });
}

struct mpr_run_rest mpr_run_rest(const char *log_path, const char *run,
                                 struct mpr_run_process *known, size_t count)
{
    struct resting r = { .run = run, .known = known, .count = count };
    char line[2048];
    size_t bytes = 0;
    FILE *f = open_beside(log_path);
    if (count) qsort(known, count, sizeof *known, by_pid);
    while (f && bytes < BYTES_MAX && fgets(line, sizeof line, f)) {
        bytes += strlen(line);
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "run ", 4) == 0) {
            end_launcher(&r);
            begin_launcher(&r.newest, line);
        } else take(&r, line);
    }
    end_launcher(&r);
    if (f) fclose(f);
    return r.all;
}
