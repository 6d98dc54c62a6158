#include "json_summary.h"

#include <stdio.h>
#include <time.h>

void mpr_json_known(struct mpr_json *j, const char *key, uint64_t value, uint64_t unknown)
{
    if (value == unknown) mpr_json_null(j, key);
    else mpr_json_number(j, key, value);
}

static void known_text(struct mpr_json *j, const char *key, const char *text)
{
    if (*text) mpr_json_text(j, key, text);
    else mpr_json_null(j, key);
}

/* Only where there was such a time. */
static void unwritten(struct mpr_json *j, const struct mpr_summary *s)
{
    if (!s->unwrittens) return;
    mpr_json_open(j, "unwritten", '[');
    for (size_t i = 0; i < s->unwrittens; i++) {
        mpr_json_open(j, NULL, '{');
        mpr_json_number(j, "errno", s->unwritten[i].error);
        mpr_json_number(j, "from_ns", s->unwritten[i].from_ns);
        mpr_json_number(j, "to_ns", s->unwritten[i].to_ns);
        mpr_json_number(j, "events", s->unwritten[i].events);
        mpr_json_close(j, '}');
    }
    mpr_json_close(j, ']');
}

/* Only where the run's record has it. */
static void death(struct mpr_json *j, const struct mpr_summary *s)
{
    static const char *const oom[] = { "", [MPR_FATE_OOM_CGROUP] = "cgroup", [MPR_FATE_OOM_KERNEL] = "kernel" };
    if (s->fate != MPR_FATE_EXIT && s->fate != MPR_FATE_SIGNAL) return;
    mpr_json_open(j, "death", '{');
    mpr_json_number(j, s->fate == MPR_FATE_EXIT ? "exit_status" : "signal", (uint64_t)s->fate_status);
    known_text(j, "oom", oom[s->oom]);
    mpr_json_close(j, '}');
}

/* UTC, with milliseconds. */
static void start_time(struct mpr_json *j, uint64_t ns)
{
    char text[64], day[32];
    struct tm tm;
    const time_t seconds = (time_t)(ns / 1000000000);
    if (!ns || !gmtime_r(&seconds, &tm)) {
        mpr_json_null(j, "start");
        return;
    }
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, sizeof text, "%s.%03uZ", day, (unsigned)(ns / 1000000 % 1000));
    mpr_json_text(j, "start", text);
}

static void process(struct mpr_json *j, const struct mpr_process_info *p)
{
    mpr_json_open(j, "process", '{');
    known_text(j, "host", p->host);
    mpr_json_known(j, "pid", p->pid, 0);
    mpr_json_known(j, "ppid", p->ppid, 0);
    known_text(j, "rank", p->rank);
    mpr_json_open(j, "command", '[');
    for (size_t i = 0; i < p->argc; i++) mpr_json_text(j, NULL, p->argv[i]);
    mpr_json_close(j, ']');
    start_time(j, p->start_ns);
    known_text(j, "parent_log", p->parent_log);
    mpr_json_close(j, '}');
}

void mpr_json_summary(struct mpr_json *j, const struct mpr_summary *s)
{
    mpr_json_text(j, "path", s->path);
    mpr_json_flag(j, "complete", s->complete);
    mpr_json_flag(j, "incomplete", s->incomplete);
    mpr_json_flag(j, "recovered_from_journal", s->journal);
    if (s->life == MPR_NOT_TOLD) mpr_json_null(j, "running");
    else mpr_json_flag(j, "running", s->life == MPR_RUNS);
    known_text(j, "running_reason", s->life_reason);
    known_text(j, "end", s->end_reason);
    if (*s->unseen_malloc) mpr_json_text(j, "unseen_malloc", s->unseen_malloc);
    death(j, s);
    mpr_json_number(j, "lost_events", s->lost_events);
    unwritten(j, s);
    mpr_json_number(j, "torn_events", s->torn);
    mpr_json_number(j, "order_repairs", s->order_repairs);
    mpr_json_number(j, "unmatched_frees", s->unmatched_frees);
    mpr_json_number(j, "missed_frees", s->missed_frees);
    mpr_json_number(j, "inherited_frees", s->inherited_frees);
    mpr_json_number(j, "damaged_places", s->damaged);
    mpr_json_number(j, "missing_frames", s->missing_frames);
    mpr_json_known(j, "damage_offset", s->bad_offset, MPR_NOWHERE);
    mpr_json_known(j, "cut_offset", s->cut_offset, MPR_NOWHERE);
    mpr_json_number(j, "good_until_ns", s->good_ns);
    mpr_json_number(j, "events", s->events);
    mpr_json_number(j, "journal_events", s->journal_events);
    mpr_json_number(j, "duration_ns", s->duration_ns);
    process(j, &s->process);
}
