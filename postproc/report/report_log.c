/* The log of a report: fields of JSON, and lines above the report. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "heap_names.h"
#include "mpf/event.h"
#include "reports.h"
#include "row.h"
#include "summary.h"
#include "utf8.h"

void mpr_report_schema(struct mpr_document *doc, const char *schema)
{
    mpr_doc_fact(doc, "schema", mpr_value_text(schema));
}

/* ---- fields */

#define OF_SUMMARY(member) MPR_FIELD(mpr_summary, member)
#define OF_PROCESS(member) MPR_FIELD(mpr_process_info, member)

MPR_VALUE(running, mpr_summary, s,
          s->life == MPR_LIFE_NOT_KNOWN ? mpr_value_unknown : mpr_value_flag(s->life == MPR_RUNS))

/* Absent if each block is recorded. */
MPR_VALUE(blocks, mpr_summary, s,
          s->recording.blocks == MPR_RECORDED_ALL
              ? mpr_value_absent
              : mpr_value_known_text(mpr_recorded_name(s->recording.blocks), MPR_UNKNOWN))
/* Absent if the sums of host/heap are exact. */
MPR_VALUE(sums, mpr_summary, s,
          s->recording.sums_estimated ? mpr_value_text("estimated") : mpr_value_absent)
/* 0 means that none was ever open. */
MPR_VALUE(windows, mpr_summary, s,
          *s->recording.window.text ? mpr_value_number(MPR_COUNT, s->recording.window.count)
                                    : mpr_value_absent)
/* 0 is the start of the process. */
MPR_VALUE(windows_from, mpr_summary, s,
          s->recording.window.count ? mpr_value_number(MPR_TIME, s->recording.window.from_ns)
                                    : mpr_value_absent)

static const char *const fold_words[] = {
    [MPR_FOLD_NONE] = "",       [MPR_FOLD_GOOD] = "folded",     [MPR_FOLD_MISSING] = "missing",
    [MPR_FOLD_OLDER] = "older", [MPR_FOLD_FOREIGN] = "foreign", [MPR_FOLD_DAMAGED] = "damaged"
};

// clang-format off
static const struct mpr_column state_columns[] = {
    { .key = "path", .type = MPR_TEXT, OF_SUMMARY(path) },
    { .key = "complete", .type = MPR_FLAG, OF_SUMMARY(complete) },
    { .key = "incomplete", .type = MPR_FLAG, OF_SUMMARY(incomplete) },
    { .key = "recovered_from_journal", .type = MPR_FLAG, OF_SUMMARY(journal) },
    { .key = "copied", .type = MPR_FLAG, OF_SUMMARY(copied), .unless = MPR_ABSENT_AT_0 },
    { .key = "running", .get = running },
    { .key = "running_reason", .type = MPR_TEXT, OF_SUMMARY(life_reason),
      .unless = MPR_UNKNOWN_AT_0 },
    { .key = "end", .type = MPR_TEXT, OF_SUMMARY(end), .words = mpf_end_name,
      .unless = MPR_UNKNOWN_AT_0 },
    { .key = "fold", .type = MPR_TEXT, OF_SUMMARY(fold.state), .words = fold_words,
      .unless = MPR_ABSENT_AT_0 },
    { .key = "folded_until_ns", .type = MPR_TIME, OF_SUMMARY(fold.until_ns),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "folded_events", .type = MPR_COUNT, OF_SUMMARY(fold.events),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "folded_grain_ns", .type = MPR_TIME, OF_SUMMARY(fold.grain_ns),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "host_blocks", .type = MPR_TEXT, .get = blocks },
    { .key = "host_large_bytes", .type = MPR_BYTES, OF_SUMMARY(recording.blocks_large),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "host_mean_bytes", .type = MPR_BYTES, OF_SUMMARY(recording.blocks_mean),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "host_sums", .get = sums },
    { .key = "window", .type = MPR_TEXT, OF_SUMMARY(recording.window.text),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "window_count", .type = MPR_COUNT, .get = windows },
    { .key = "window_from_ns", .type = MPR_TIME, .get = windows_from },
    { .key = "window_to_ns", .type = MPR_TIME, OF_SUMMARY(recording.window.to_ns),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "window_ns", .type = MPR_TIME, OF_SUMMARY(recording.window.ns),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "unseen_malloc", .type = MPR_TEXT, OF_SUMMARY(unseen_malloc),
      .unless = MPR_ABSENT_AT_0 },
};
// clang-format on

static const struct mpr_column unwritten_columns[] = {
    { .key = "errno", .type = MPR_COUNT, MPR_FIELD(mpr_unwritten_row, error) },
    { .key = "from_ns", .type = MPR_TIME, MPR_FIELD(mpr_unwritten_row, from_ns) },
    { .key = "to_ns", .type = MPR_TIME, MPR_FIELD(mpr_unwritten_row, to_ns) },
    { .key = "events", .type = MPR_COUNT, MPR_FIELD(mpr_unwritten_row, events) },
};

// clang-format off
static const struct mpr_column event_columns[] = {
    { .key = "torn_events", .type = MPR_COUNT, OF_SUMMARY(torn) },
    { .key = "order_repairs", .type = MPR_COUNT, OF_SUMMARY(order_repairs) },
    { .key = "unmatched_frees", .type = MPR_COUNT, OF_SUMMARY(unmatched_frees) },
    { .key = "missed_frees", .type = MPR_COUNT, OF_SUMMARY(missed_frees) },
    { .key = "inherited_frees", .type = MPR_COUNT, OF_SUMMARY(inherited_frees) },
    { .key = "damaged_places", .type = MPR_COUNT, OF_SUMMARY(damaged) },
    { .key = "missing_frames", .type = MPR_COUNT, OF_SUMMARY(missing_frames) },
    { .key = "damage_offset", .type = MPR_COUNT, OF_SUMMARY(bad_offset),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "cut_offset", .type = MPR_COUNT, OF_SUMMARY(cut_offset),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "good_until_ns", .type = MPR_TIME, OF_SUMMARY(good_ns) },
    { .key = "events", .type = MPR_COUNT, OF_SUMMARY(events) },
    { .key = "journal_events", .type = MPR_COUNT, OF_SUMMARY(journal_events) },
    { .key = "duration_ns", .type = MPR_TIME, OF_SUMMARY(duration_ns) },
};
// clang-format on

static const struct mpr_column process_columns[] = {
    { .key = "host", .type = MPR_TEXT, OF_PROCESS(host), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "pid", .type = MPR_COUNT, OF_PROCESS(pid), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "ppid", .type = MPR_COUNT, OF_PROCESS(ppid), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "rank", .type = MPR_TEXT, OF_PROCESS(rank), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "run", .type = MPR_TEXT, OF_PROCESS(run), .unless = MPR_ABSENT_AT_0 },
    { .key = "command", MPR_TEXTS_FIELD(mpr_process_info, argv, argc) },
};

static const struct mpr_column loss_columns[] = {
    { .key = "reason", .type = MPR_TEXT, MPR_FIELD(mpr_loss_row, reason) },
    { .key = "events", .type = MPR_COUNT, MPR_FIELD(mpr_loss_row, events) },
};

const char *mpr_report_utc(struct mpr_document *doc, uint64_t ns)
{
    char day[32];
    struct tm tm;
    const time_t seconds = (time_t)(ns / 1000000000);
    if (!ns || !gmtime_r(&seconds, &tm)) return "";
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    return mpr_arena_format(&doc->arena, "%s.%03uZ", day, (unsigned)(ns / 1000000 % 1000));
}

void mpr_report_log_fields(struct mpr_document *doc, const struct mpr_summary *s)
{
    static const char *const oom[] = {
        "", [MPR_FATE_OOM_CGROUP] = "cgroup", [MPR_FATE_OOM_KERNEL] = "kernel"
    };
    const struct mpr_process_info *p = &s->process;
    const bool exited = s->fate == MPR_FATE_EXIT || s->exit_status_known;
    mpr_doc_set_epoch(doc, p->start_ns);
    doc->log = s;
    mpr_doc_facts(doc, state_columns, s);
    if (exited || s->fate == MPR_FATE_SIGNAL) {
        mpr_doc_open(doc, "death");
        mpr_doc_fact(doc, exited ? "exit_status" : "signal",
                     mpr_value_number(MPR_COUNT, (uint64_t)s->fate_status));
        mpr_doc_fact(doc, "oom", mpr_value_known_text(oom[s->oom], MPR_UNKNOWN));
        mpr_doc_close(doc);
    }
    mpr_doc_fact(doc, "lost_events", mpr_value_number(MPR_COUNT, s->lost_events));
    if (s->unwrittens)
        mpr_doc_objects(doc, "unwritten", unwritten_columns, s->unwritten, s->unwrittens);
    mpr_doc_facts(doc, event_columns, s);
    mpr_doc_open(doc, "process");
    mpr_doc_facts(doc, process_columns, p);
    mpr_doc_fact(doc, "start", mpr_value_known_text(mpr_report_utc(doc, p->start_ns), MPR_UNKNOWN));
    mpr_doc_fact(doc, "parent_log", mpr_value_known_text(p->parent_log, MPR_UNKNOWN));
    mpr_doc_close(doc);
}

void mpr_report_losses(struct mpr_document *doc, const struct mpr_summary *s)
{
    mpr_doc_objects(doc, "losses", loss_columns, s->loss, s->losses);
}

/* ---- lines */

void mpr_report_title(struct mpr_document *doc, const struct mpr_summary *s)
{
    const struct mpr_process_info *p = &s->process;
    mpr_doc_add(doc, MPR_STRONG, "%s", mpr_report_command(doc, p));
    if (*p->rank) mpr_doc_add_plain(doc, "  rank %s", p->rank);
    if (*p->host) mpr_doc_add_plain(doc, "  %s", p->host);
    if (p->pid) mpr_doc_add_plain(doc, "  pid %" PRIu64, p->pid);
    mpr_doc_end(doc);
}

/* Returns "SIGTERM", or "signal 64" for a signal without a name. */
static const char *signal_name(struct mpr_arena *arena, int signal)
{
    const char *name = sigabbrev_np(signal);
    return name ? mpr_arena_format(arena, "SIG%s", name)
                : mpr_arena_format(arena, "signal %d", signal);
}

const char *mpr_report_fate(struct mpr_arena *arena, const struct mpr_summary *s)
{
    if (s->oom == MPR_FATE_OOM_KERNEL) return "OOM-killed by the kernel";
    if (s->oom == MPR_FATE_OOM_CGROUP) return "SIGKILL while its cgroup counted an OOM kill";
    if (s->fate == MPR_FATE_SIGNAL) return signal_name(arena, s->fate_status);
    if (s->fate == MPR_FATE_UNKNOWN) return "killed, or ended by exit_group";
    if (s->fate != MPR_FATE_EXIT) return "";
    return mpr_arena_format(arena, "exit status %d", s->fate_status);
}

const char *mpr_report_ending(struct mpr_arena *arena, const struct mpr_summary *s)
{
    if (s->life == MPR_RUNS) return "runs";
    if (s->oom != MPR_FATE_NO_OOM) return "OOM-killed";
    if (s->fate == MPR_FATE_SIGNAL) return signal_name(arena, s->fate_status);
    if (s->fate == MPR_FATE_UNKNOWN) return "unknown";
    if (s->fate == MPR_FATE_EXIT || (s->exit_status_known && s->fate_status))
        return mpr_arena_format(arena, "exit %d", s->fate_status);
    return s->end ? mpf_end_name[s->end] : "unknown";
}

/* Adds a line about the end of the log and of its process. */
static void state(struct mpr_document *doc, const struct mpr_summary *s)
{
    if (s->torch_snapshot) {
        mpr_doc_line(doc,
                     "log: a memory snapshot of PyTorch, without the host, other libraries and the "
                     "time before it; %s; %s long",
                     mpr_doc_counted(doc, s->events, "event", "events"),
                     mpr_doc_duration(doc, s->duration_ns));
        return;
    }
    mpr_doc_add_plain(doc, "log: ");
    if (s->copied)
        mpr_doc_add_plain(doc, "INCOMPLETE, a copy: events after it was copied may be missing");
    else if (s->life == MPR_RUNS)
        mpr_doc_add_plain(doc, "still running (%s), read up to now", s->life_reason);
    else if (s->journal_only) mpr_doc_add_plain(doc, "a journal without its log");
    else if (s->complete && s->journal)
        mpr_doc_add_plain(doc, "complete, recovered from its journal");
    else if (s->complete) mpr_doc_add_plain(doc, "complete");
    else if (s->incomplete) mpr_doc_add_plain(doc, "INCOMPLETE");
    else if (s->life == MPR_LIFE_NOT_KNOWN) mpr_doc_add_plain(doc, "read with its journal");
    else mpr_doc_add_plain(doc, "recovered from its journal, nothing is missing");
    if (s->fate != MPR_FATE_OWN)
        mpr_doc_add_plain(doc, "; the process ended: %s", mpr_report_fate(&doc->arena, s));
    if (s->end != MPF_END_NONE && s->end != MPF_END_RECOVERED)
        mpr_doc_add_plain(doc, ", ended by %s", mpf_end_name[s->end]);
    if (s->exit_status_known) mpr_doc_add_plain(doc, ", status %d", s->fate_status);
    if (s->life == MPR_LIFE_NOT_KNOWN && s->fate == MPR_FATE_OWN)
        mpr_doc_add_plain(doc, "; it is not known whether its process still runs (%s)",
                          s->life_reason);
    mpr_doc_line(doc, "; %s, %s lost; %s long", mpr_doc_counted(doc, s->events, "event", "events"),
                 mpr_doc_count(doc, s->lost_events), mpr_doc_duration(doc, s->duration_ns));
    if (s->fold.until_ns)
        mpr_doc_line(doc, "log: thinned until %s%s", mpr_doc_time(doc, s->fold.until_ns),
                     s->fold.events ? ": short-lived blocks before that are only counted" : "");
}

#define WARNING(doc, ...) (mpr_doc_add(doc, MPR_WARN, "warning: " __VA_ARGS__), mpr_doc_end(doc))

static const char *plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

static void warn_damage(struct mpr_document *doc, const struct mpr_summary *s)
{
    const char *good = mpr_doc_time(doc, s->good_ns);
    if (s->damaged)
        WARNING(doc,
                "damaged in %" PRIu64 " place%s, first at offset %" PRIu64
                "; whole up to %s, later figures may be wrong",
                s->damaged, plural(s->damaged, "", "s"), s->bad_offset, good);
    else if (s->missing_frames)
        WARNING(doc, "%" PRIu64 " frame%s missing before offset %" PRIu64 "; whole up to %s",
                s->missing_frames, plural(s->missing_frames, " is", "s are"), s->bad_offset, good);
    if (s->cut && s->journal && !s->missing_frames)
        WARNING(doc, "its last frame, at offset %" PRIu64 ", is cut; the journal has its events",
                s->cut_offset);
    else if (s->cut)
        WARNING(doc, "cut at offset %" PRIu64 "; events after %s are missing", s->cut_offset, good);
}

static void warn_missing(struct mpr_document *doc, const struct mpr_summary *s)
{
    static const char *const wrong_fold[] = {
        [MPR_FOLD_MISSING] =
            "is missing, and has the log's beginning; copy it to the folder of the log",
        [MPR_FOLD_OLDER] =
            "is older than the log, and events between them are missing; copy both at the same time",
        [MPR_FOLD_FOREIGN] = "belongs to another log or another user, and was not read",
        [MPR_FOLD_DAMAGED] = "is damaged, and was not read",
    };
    /* the first gap, if frames between the log and its journal are missing */
    const uint64_t until = s->missing_frames ? s->good_ns : s->duration_ns;
    /* LOG.fold without the newest part of the log, which LOG has */
    const bool is_beginning = s->fold.until_ns && until <= s->fold.until_ns &&
                              s->end == MPF_END_NONE && (!s->journal || s->missing_frames);
    if (wrong_fold[s->fold.state])
        WARNING(doc, "%s.fold %s", mpr_basename(s->path), wrong_fold[s->fold.state]);
    warn_damage(doc, s);
    if (!s->has_header && !s->journal_only)
        WARNING(doc, "the header is damaged: process and start time are not known");
    if (s->journal_only)
        WARNING(
            doc,
            "it has only events that were not written to the log yet; give the log, if it exists");
    else if (is_beginning)
        WARNING(doc, "events after %s are missing: this is the beginning of a log that was thinned",
                mpr_doc_time(doc, until));
    else if (s->end == MPF_END_NONE && !s->journal && !s->cut)
        WARNING(doc, "no end and no journal: events shortly before the process ended are missing");
    if (s->copied)
        WARNING(
            doc,
            "the process may still have run when the log was copied. Run memprof-report log recover on the original to make a log that can be copied");
    for (size_t i = 0; i < s->losses; i++)
        WARNING(doc, "%" PRIu64 " events lost: %s", s->loss[i].events, s->loss[i].reason);
    for (size_t i = 0; i < s->unwrittens; i++) {
        const struct mpr_unwritten_row *u = &s->unwritten[i];
        WARNING(doc, "from %s to %s nothing could be written (%s): %" PRIu64 " events",
                mpr_doc_time(doc, u->from_ns), mpr_doc_time(doc, u->to_ns), strerror((int)u->error),
                u->events);
    }
    if (s->torn)
        WARNING(doc, "%" PRIu64 " event%s being written when the process died", s->torn,
                plural(s->torn, " was", "s were"));
}

void mpr_report_recording(struct mpr_document *doc, const struct mpr_recording *r)
{
    const uint64_t windows = r->window.count;
    if (*r->window.text && !windows)
        WARNING(doc, "no window of MEMPROF_WINDOW=%s was ever open", r->window.text);
    else if (*r->window.text)
        mpr_doc_line(doc, "MEMPROF_WINDOW=%s: %" PRIu64 " window%s, %s in all, from %s to %s",
                     r->window.text, windows, plural(windows, "", "s"),
                     mpr_doc_duration(doc, r->window.ns), mpr_doc_time(doc, r->window.from_ns),
                     mpr_doc_time(doc, r->window.to_ns));
    if (r->blocks == MPR_RECORDED_OFF)
        mpr_doc_line(doc, "host blocks were not recorded (MEMPROF_HOST=off)");
    if (r->blocks == MPR_RECORDED_LARGE)
        mpr_doc_line(
            doc,
            "host/heap: %sblocks of at least %s are recorded, smaller ones as totals, in usable bytes",
            r->window.blocks ? "outside of the window " : "", mpr_doc_size(doc, r->blocks_large));
    if (r->blocks != MPR_RECORDED_SAMPLE) return;
    mpr_doc_line(
        doc,
        "host/heap: blocks of at least %s are recorded, and of smaller ones a sample, one per %s on average",
        mpr_doc_size(doc, r->blocks_large), mpr_doc_size(doc, r->blocks_mean));
    mpr_doc_line(doc, "host/heap: %s estimated from the sample (+- is one standard error)%s",
                 r->sums_estimated ? "lines and sums are" : "lines are",
                 r->sums_estimated ? "" : "; sums are exact");
}

void mpr_report_log_lines(struct mpr_document *doc, const struct mpr_summary *s)
{
    char zone[64];
    struct tm tm;
    const uint64_t start = s->process.start_ns;
    const time_t seconds = (time_t)(start / 1000000000);
    mpr_doc_set_epoch(doc, start);
    mpr_report_title(doc, s);
    state(doc, s);
    if (doc->clock && (!start || !localtime_r(&seconds, &tm)))
        mpr_doc_line(doc, "times: since the process's start, because the start time is not known");
    else if (doc->clock) {
        strftime(zone, sizeof zone, "%Y-%m-%d, %Z (%z)", &tm);
        mpr_doc_line(doc, "times: time of day, %s", zone);
    }
    warn_missing(doc, s);
    if (s->attached)
        mpr_doc_line(
            doc,
            "memprof was attached to the running process: blocks from before are one line, and GPU "
            "memory is not recorded");
    if (*s->unseen_malloc)
        mpr_doc_line(
            doc,
            "host/heap is not recorded: the program uses the malloc of %s; memory that it maps is in host/mmap",
            s->unseen_malloc);
    mpr_report_recording(doc, &s->recording);
    if (s->unmatched_frees || s->missed_frees)
        mpr_doc_line(doc,
                     "%" PRIu64 " free%s of unrecorded blocks, %" PRIu64
                     " block%s whose free was not recorded",
                     s->unmatched_frees, plural(s->unmatched_frees, "", "s"), s->missed_frees,
                     plural(s->missed_frees, "", "s"));
}

/* A time that was copied from a report is rounded to ms, so it may be later by half a ms. */
static bool is_too_late(const struct mpr_summary *s, struct mpr_instant at)
{
    return !mpr_instant_is_peak(at) && at.from > s->duration_ns + 1000000;
}

struct mpr_instant mpr_report_shown_instant(const struct mpr_summary *s, struct mpr_instant at)
{
    return is_too_late(s, at) ? MPR_INSTANT_END_OF(s->duration_ns) : at;
}

static const char *too_late(struct mpr_document *doc, const struct mpr_summary *s,
                            struct mpr_instant at)
{
    return mpr_arena_format(&doc->arena,
                            "%s is after the end of the log, at %s: the state at the end is shown",
                            mpr_doc_time(doc, at.from), mpr_doc_time(doc, s->duration_ns));
}

void mpr_report_too_late_field(struct mpr_document *doc, const struct mpr_summary *s,
                               struct mpr_instant at)
{
    if (!is_too_late(s, at)) return;
    const char **warning = mpr_arena_alloc(&doc->arena, sizeof *warning);
    *warning = too_late(doc, s, at);
    mpr_doc_fact(doc, "warnings", mpr_value_texts(warning, 1));
}

void mpr_report_too_late_line(struct mpr_document *doc, const struct mpr_summary *s,
                              struct mpr_instant at)
{
    if (is_too_late(s, at)) WARNING(doc, "%s", too_late(doc, s, at));
}

void mpr_report_too_late(struct mpr_document *doc, const struct mpr_summary *s,
                         struct mpr_instant at)
{
    mpr_report_too_late_field(doc, s, at);
    mpr_report_too_late_line(doc, s, at);
}

void mpr_report_log(struct mpr_document *doc, const struct mpr_summary *s)
{
    mpr_report_log_fields(doc, s);
    mpr_report_log_lines(doc, s);
}

bool mpr_report_is_thinned(const struct mpr_summary *s, uint8_t heap)
{
    return s->fold.events && (heap == MPF_HEAP_HOST || mpr_heap_is_torch(heap));
}

void mpr_report_choice(struct mpr_document *doc, const struct mpr_choice *choice)
{
    if (*choice->source) mpr_doc_line(doc, "ranges: %s", choice->source);
}

void mpr_report_inside(struct mpr_document *doc, uint8_t inside)
{
    if (inside) mpr_doc_add_plain(doc, "  (~ from samples, inside %s)", mpr_heap_name(inside));
}

void mpr_report_notes(struct mpr_document *doc, const char *const *note, size_t notes)
{
    if (notes) mpr_doc_gap(doc);
    for (size_t i = 0; i < notes; i++) mpr_doc_line(doc, "%s", note[i]);
}
