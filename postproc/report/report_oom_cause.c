/* All processes at the instant of the first failure; and the cause, in at most three lines: why
 * memory ran out, what to do, and what grew. */
#include <inttypes.h>
#include <stdlib.h>

#include "amount.h"
#include "mpf/sample.h"
#include "naming.h"
#include "readings.h"
#include "report_oom.h"
#include "report_rows.h"
#include "reports.h"

/* ---- processes at the first failure */

struct process {
    struct mpr_path name;
    uint64_t rss, private, host, device, torch;
};

#define BYTES(name, member, without)                                                               \
    {                                                                                              \
        .title = name, .type = MPR_BYTES, MPR_FIELD(process, member),                              \
        .unless = MPR_UNKNOWN_AT_MAX, .sums = true, .spare = without                               \
    }

static const struct mpr_column process_columns[] = {
    { .title = "process", MPR_PATH_FIELD(process, name) },
    BYTES("RSS", rss, 0),
    BYTES("private", private, 1),
    BYTES("live host", host, 3),
    BYTES("live GPU", device, 0),
    BYTES("torch live", torch, 2),
};

const char *mpr_report_oom_process(struct mpr_document *doc, const struct mpr_summary *s)
{
    const struct mpr_process_info *p = &s->process;
    if (!*p->rank) return mpr_arena_format(&doc->arena, "pid %" PRIu64, p->pid);
    return mpr_arena_format(&doc->arena, "rank %.20s, pid %" PRIu64, p->rank, p->pid);
}

static void processes(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    struct process *row = mpr_arena_alloc(&doc->arena, ooms->logs * sizeof *row);
    size_t rows = 0;
    for (size_t i = 0; i < ooms->logs; i++) {
        const struct mpr_summary *s = &ooms->log[i].summary;
        const struct mpr_failure_state *t = &ooms->log[i].at_failure;
        if (!t->alive) continue;
        const char *const name[] = { mpr_report_program(doc, &s->process),
                                     mpr_report_oom_process(doc, s) };
        struct process *r = &row[rows++];
        *r = (struct process){ .name = mpr_frame_labels(&doc->arena, name, 2),
                               .rss = mpr_reading_resident_bytes(&t->rss),
                               .host = t->host };
        r->private = t->rss.valid ? t->rss.value[MPF_RSS_PRIVATE_DIRTY] : MPF_UNKNOWN;
        if (r->rss == MPF_UNKNOWN && s->hwm) r->rss = s->hwm;
        if (!t->devices) r->device = r->torch = MPF_UNKNOWN;
        for (size_t k = 0; k < t->devices; k++) {
            r->device += t->device[k].tracked;
            r->torch += t->device[k].torch;
        }
    }
    mpr_doc_rows(doc, process_columns, row, rows, .title = "processes at the failure",
                 .only = MPR_FOR_PEOPLE, .total = "sum (RSS counts shared pages repeatedly)");
}

#define OF_DEVICE(member) MPR_FIELD(mpr_failure_device, member)

static const struct mpr_column process_devices[] = {
    { .key = "index", .type = MPR_COUNT, OF_DEVICE(index) },
    { .key = "uuid", .type = MPR_TEXT, OF_DEVICE(uuid) },
    { .key = "used_bytes", .type = MPR_BYTES, OF_DEVICE(used), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "tracked_bytes", .type = MPR_BYTES, OF_DEVICE(tracked) },
    { .key = "torch_bytes", .type = MPR_BYTES, OF_DEVICE(torch) },
};

/* ---- devices */

static struct mpr_path name_of(struct mpr_document *doc, const struct mpr_device_sum *d)
{
    const char *const name[] = { d->host, d->name,
                                 mpr_arena_format(&doc->arena, "%.12s", d->uuid) };
    return mpr_frame_labels(&doc->arena, name, 3);
}

MPR_VALUE(device_name, mpr_device_sum, d, mpr_value_path(name_of(doc, d)))

#define OF_SUM(member) MPR_FIELD(mpr_device_sum, member)

// clang-format off
static const struct mpr_column device_columns[] = {
    { .title = "device", .type = MPR_PATH, .get = device_name },
    { .key = "host", .type = MPR_TEXT, OF_SUM(host) },
    { .key = "uuid", .type = MPR_TEXT, OF_SUM(uuid) },
    { .key = "name", .type = MPR_TEXT, OF_SUM(name) },
    { .key = "used_bytes", .title = "used", .type = MPR_BYTES, OF_SUM(used),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "total_bytes", .title = "of", .type = MPR_BYTES, OF_SUM(total),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "tracked_bytes", .title = "live", .type = MPR_BYTES, OF_SUM(tracked), .spare = 3 },
    { .key = "torch_bytes", .title = "torch live", .type = MPR_BYTES, OF_SUM(torch),
      .spare = 2 },
    { .key = "processes", .title = "processes", .type = MPR_COUNT, OF_SUM(processes), .width = 12,
      .spare = 1 },
};
// clang-format on

static void devices(struct mpr_document *doc, const struct mpr_ooms *ooms, unsigned only)
{
    mpr_doc_rows(doc, device_columns, ooms->sum, ooms->sums, .key = "devices",
                 .title = "devices at the failure, all processes", .only = only,
                 .all = MPR_EVERYWHERE);
}

/* ---- ends of processes */

static uint64_t end_of(const struct mpr_ooms_log *log)
{
    return log->summary.process.start_ns + log->summary.duration_ns;
}

MPR_COMPARE(by_end, const struct mpr_ooms_log *, mpr_compare(end_of(*a), end_of(*b)))

/* The ends that the run's record has, in order. */
static void ends(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    const struct mpr_ooms_log **log = mpr_arena_alloc(&doc->arena, ooms->logs * sizeof *log);
    size_t count = 0;
    for (size_t i = 0; i < ooms->compared_logs; i++)
        if (ooms->log[i].summary.fate == MPR_FATE_SIGNAL ||
            ooms->log[i].summary.fate == MPR_FATE_EXIT)
            log[count++] = &ooms->log[i];
    if (!count) return;
    qsort(log, count, sizeof *log, by_end);
    for (size_t i = 0; i < count && i < MPR_TOP; i++) {
        const struct mpr_summary *s = &log[i]->summary;
        mpr_doc_add_plain(doc, "%s pid %" PRIu64 " %s", i ? ";" : "ends:", s->process.pid,
                          mpr_report_fate(&doc->arena, s));
        if (i) {
            mpr_doc_add_plain(doc, " %.3f s later",
                              (double)mpr_saturating_sub(end_of(log[i]), end_of(log[0])) / 1e9);
            continue;
        }
        mpr_doc_set_epoch(doc, s->process.start_ns);
        mpr_doc_add_plain(doc, " at %s", mpr_doc_time(doc, s->duration_ns));
    }
    if (count > MPR_TOP) mpr_doc_add_plain(doc, "; %zu more", count - MPR_TOP);
    mpr_doc_end(doc);
}

void mpr_report_oom_comparison(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    if (!ooms->compared) return;
    const struct mpr_ooms_log *first = &ooms->log[0];
    const struct mpr_process_info *p = &first->summary.process;
    const char *how = mpr_report_fate(&doc->arena, &first->summary);
    mpr_doc_set_epoch(doc, p->start_ns);
    if (first->summary.fate == MPR_FATE_UNKNOWN && first->host.full) how = "killed";
    if (ooms->device_failure) how = "device memory";
    mpr_doc_add(doc, MPR_STRONG, "%zu of %zu processes failed, the first", ooms->failed,
                ooms->processes);
    if (*p->rank) mpr_doc_add_plain(doc, " rank %s", p->rank);
    mpr_doc_line(doc, " pid %" PRIu64 ", %s after its start: %s", p->pid,
                 mpr_doc_time(doc, mpr_saturating_sub(ooms->first_failure, p->start_ns)), how);
    ends(doc, ooms);
    processes(doc, ooms);
    devices(doc, ooms, MPR_FOR_PEOPLE);
    if (ooms->against.valid) {
        mpr_doc_gap(doc);
        mpr_doc_line(
            doc, "the first process that failed, compared with the median of the other %zu, by %s",
            ooms->others, mpr_group_word(ooms->by));
        mpr_report_growth_rows(doc,
                               ooms->device_failure ? "live device memory" : "live host memory",
                               &ooms->against, ooms->by);
    }
    mpr_doc_gap(doc);
}

void mpr_report_oom_first_failure(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    if (!ooms->compared) {
        mpr_doc_fact(doc, "first_failure", mpr_value_unknown);
        return;
    }
    mpr_doc_open(doc, "first_failure");
    mpr_doc_fact(doc, "path", mpr_value_text(ooms->log[0].summary.path));
    mpr_doc_fact(doc, "of", mpr_value_text(ooms->device_failure ? "device" : "host"));
    mpr_doc_fact(doc, "failed_processes", mpr_value_number(MPR_COUNT, ooms->failed));
    mpr_doc_list(doc, "processes");
    for (size_t i = 0; i < ooms->logs; i++) {
        const struct mpr_failure_state *t = &ooms->log[i].at_failure;
        if (!t->alive) continue;
        mpr_doc_open(doc, NULL);
        mpr_doc_fact(doc, "path", mpr_value_text(ooms->log[i].summary.path));
        mpr_doc_fact(doc, "time_ns", mpr_value_number(MPR_TIME, t->time));
        mpr_report_reading(doc, "rss", MPR_READ_RSS, &t->rss);
        mpr_doc_fact(doc, "host_bytes", mpr_value_number(MPR_BYTES, t->host));
        mpr_doc_objects(doc, "devices", process_devices, t->device, t->devices);
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
    devices(doc, ooms, MPR_IN_JSON);
    mpr_report_growth(doc, "against_median", &ooms->against, NULL);
    mpr_doc_close(doc);
}

/* ---- lines of the cause */

enum { HANG = 9 }; /* columns before the sentences */

struct cause {
    struct mpr_document *doc;
    const struct mpr_ooms *ooms;
    const struct mpr_ooms_log *log;
    const struct mpr_insights *insights; /* of the log */
    const struct mpr_oom_event *story;   /* the event of the device, or NULL for host memory */
    bool begun;                          /* a line is written */
};

static void label(struct cause *c, const char *word)
{
    if (!c->begun) mpr_doc_gap(c->doc);
    mpr_doc_label(c->doc, MPR_STRONG, 0, HANG, word);
    if (!c->begun && c->ooms->processes > 1)
        mpr_doc_add_plain(c->doc, "%s: ", mpr_report_oom_process(c->doc, &c->log->summary));
    c->begun = true;
}

/* Writes a line of one sentence. */
#define LINE(c, word, ...)                                                                         \
    (label(c, word), mpr_doc_add_plain((c)->doc, __VA_ARGS__), mpr_doc_end_wrapped((c)->doc, HANG))

/* Returns the formatted text if the condition holds, else "". */
#define IF(condition, ...) ((condition) ? mpr_arena_format(&c->doc->arena, __VA_ARGS__) : "")

static const char *size(struct cause *c, uint64_t bytes) { return mpr_doc_size(c->doc, bytes); }

static uint64_t known(uint64_t value) { return value == MPF_UNKNOWN ? 0 : value; }

static uint64_t missing(const struct mpr_oom_event *s)
{
    return s && s->free != MPF_UNKNOWN ? mpr_saturating_sub(s->needed, s->free) : 0;
}

/* Returns the first finding on the device or the host that ran out, or NULL.  A possible finding is
 * a question, which explains nothing. */
static const struct mpr_finding *finding_of(const struct cause *c)
{
    const struct mpr_insights *in = c->insights;
    for (size_t i = 0; i < in->findings; i++) {
        const uint8_t heap = in->finding[i].heap;
        if (in->finding[i].weak) continue;
        if (c->story ? mpf_heap_is_gpu(heap) && mpf_heap_device(heap) == c->story->index
                     : !mpf_heap_is_gpu(heap))
            return &in->finding[i];
    }
    return NULL;
}

/* Returns the bytes on tmpfs that memprof wrote, if they are a large part of the cgroup's limit. */
static uint64_t own_files(const struct cause *c)
{
    enum { SHARE = 4 };
    const struct mpr_host_oom *host = &c->log->host;
    if (c->story || !(host->full || host->killed) || !host->cgroup.valid) return 0;
    const uint64_t bytes = host->cgroup.value[MPF_CGROUP_MEMPROF],
                   limit = host->cgroup.value[MPF_CGROUP_LIMIT];
    return bytes != MPF_UNKNOWN && limit != MPF_UNKNOWN && bytes >= limit / SHARE ? bytes : 0;
}

/* ---- memory of the cgroup that is in no process of the run */

/* Returns true if most of the cgroup's charge is not in the memory of the recorded processes: then
 * none of them is the reason.  Processes of the run that were alive at the first failure count.  A
 * sample is older than the kill: if the charge was at the limit by then, the process cannot have
 * grown much since. */
static bool is_elsewhere(const struct cause *c)
{
    const struct mpr_host_oom *host = &c->log->host;
    if (c->story || host->refused || !host->cgroup.valid || !host->rss.valid) return false;
    const uint64_t charge = host->cgroup.value[MPF_CGROUP_USAGE],
                   resident = known(mpr_reading_resident_bytes(&host->rss));
    uint64_t sum = host->full || host->growth.after < resident ? resident : host->growth.after;
    if (charge == MPF_UNKNOWN || host->cgroup.value[MPF_CGROUP_LIMIT] == MPF_UNKNOWN) return false;
    sum += known(host->cgroup.value[MPF_CGROUP_MEMPROF]);
    for (size_t i = 0; c->ooms->compared && i < c->ooms->logs; i++) {
        const struct mpr_ooms_log *log = &c->ooms->log[i];
        if (log != c->log && log->run == c->log->run && log->at_failure.alive)
            sum += known(mpr_reading_resident_bytes(&log->at_failure.rss));
    }
    return sum < charge / 2;
}

static void elsewhere(struct cause *c)
{
    const struct mpr_host_oom *host = &c->log->host;
    const uint64_t charge = host->cgroup.value[MPF_CGROUP_USAGE];
    uint64_t bytes;
    const char *kind = mpr_reading_outside(&host->cgroup, charge, &bytes);
    if (kind) {
        LINE(c, "why",
             "%s: %s of the %s that the cgroup was charged at %s; the process's RSS was %s", kind,
             size(c, bytes), size(c, charge), mpr_doc_time(c->doc, host->cgroup.time),
             size(c, mpr_reading_resident_bytes(&host->rss)));
        if (bytes == host->cgroup.value[MPF_CGROUP_SHMEM])
            LINE(c, "do", "remove files from /dev/shm and other tmpfs, or write them to a disk");
        return;
    }
    LINE(c, "why",
         "not known: at %s the cgroup was charged %s, and the process's RSS was %s; the rest "
         "may be files on tmpfs, page cache, memory of the kernel or other processes",
         mpr_doc_time(c->doc, host->cgroup.time), size(c, host->cgroup.value[MPF_CGROUP_USAGE]),
         size(c, mpr_reading_resident_bytes(&host->rss)));
}

/* ---- memory that was never touched */

/* Returns the heap that ran out: PyTorch's blocks rather than their segments, or the largest heap
 * of the host. */
static const struct mpr_heap_peak *heap_of(const struct cause *c)
{
    const struct mpr_log_peaks *log = &c->insights->peaks.log[0];
    if (c->story) {
        const struct mpr_heap_peak *torch = mpr_peaks_heap(log, mpr_heap_torch_of(c->story->heap));
        return torch ? torch : mpr_peaks_heap(log, c->story->heap);
    }
    for (size_t i = 0; i < log->heaps; i++)
        if (!log->heap[i].inside && log->heap[i].heap < MPF_HEAP_NVTX) return &log->heap[i];
    return NULL;
}

/* Returns the maximum of the bytes that the killed process had in memory or swap, or MPF_UNKNOWN.
 * Memory that it got just before its end may be in no sample. */
static uint64_t max_touched(const struct cause *c)
{
    const struct mpr_log_peaks *log = &c->insights->peaks.log[0];
    const struct mpr_heap_peak *h = heap_of(c);
    const struct mpr_reading *largest = &log->largest[MPR_READ_RSS];
    const uint64_t swap = largest->valid ? known(largest->value[MPF_RSS_SWAP]) : 0;
    if (c->story || !c->log->host.killed || !h || log->rss_high == MPF_UNKNOWN) return MPF_UNKNOWN;
    if (mpr_saturating_sub(log->summary.duration_ns, h->peak_time) < 2 * MPR_READING_BEAT_NS)
        return MPF_UNKNOWN;
    return log->rss_high + swap;
}

/* Returns true if hardly any of those bytes were ever in memory.  Address space is not charged, so
 * the kernel does not kill for it. */
static bool is_untouched(const struct cause *c, uint64_t bytes)
{
    enum { HARDLY = 8 };
    const uint64_t max = max_touched(c);
    return max != MPF_UNKNOWN && bytes / HARDLY > max;
}

static void untouched(struct cause *c, uint64_t bytes)
{
    LINE(c, "why",
         "not known: at most %s of the process's %s was resident or in swap; page tables, other "
         "memory of the kernel, files on tmpfs or other processes may have used up the memory",
         size(c, max_touched(c)), size(c, bytes));
}

/* ---- the largest owner */

static void held(struct cause *c)
{
    struct mpr_document *doc = c->doc;
    const struct mpr_heap_peak *h = heap_of(c);
    const struct mpr_host_oom *host = &c->log->host;
    const bool killed = !c->story && host->killed;
    size_t lines, live;
    if (!h || !h->rows || !h->peak_bytes) return;
    /* If more than those bytes were refused at once, their owner is not the reason. */
    if (c->story && c->story->bytes > h->peak_bytes) return;
    for (size_t i = 0; !c->story && !killed && i < host->refusals; i++)
        if (host->refusal[i].bytes > h->peak_bytes) return;
    /* The peak was over before the process was killed. */
    if (killed && h->end_bytes < h->peak_bytes / 4 * 3) return;
    const struct mpr_line *l =
        mpr_naming_lines(&doc->arena, mpr_report_naming(doc), c->insights->peaks.log[0].choice.by,
                         h->row, h->rows, &lines, &live);
    if (is_untouched(c, l->row.bytes)) untouched(c, l->row.bytes);
    else if (l->row.path.depth)
        LINE(c, "why", "%s held %s%s of the %s of %s at its peak%s",
             mpr_report_call_words(doc, l->row.path, l->caller), l->row.estimated ? "~" : "",
             size(c, l->row.bytes), size(c, h->peak_bytes), mpr_heap_name(h->heap),
             IF(max_touched(c) < l->row.bytes, "; at most %s of it was resident or in swap",
                size(c, max_touched(c))));
}

/* ---- growth */

/* The row that grew most, if the sum grew: in the process, else over the other processes.  It
 * counts if the request would have fit without it, or it is a twentieth of all. */
static void grew(struct cause *c)
{
    enum { TWENTIETH = 20 };
    const struct mpr_growth *own = c->story ? &c->story->growth : &c->log->host.growth, *g = own;
    if (!own->valid && c->log == c->ooms->log) g = &c->ooms->against;
    const struct mpr_most_grown row =
        mpr_report_most_grown(c->doc, g, g == own ? c->log->choice.by : c->ooms->by);
    const bool would_fit = c->story && row.bytes >= missing(c->story);
    if (!row.name || g->after <= g->before) return;
    if (!would_fit && row.bytes < g->after / TWENTIETH) return;
    if (is_untouched(c, row.bytes)) return;
    LINE(c, "grew", "%s %s+%s %s", row.name, row.estimated ? "~" : "", size(c, row.bytes),
         g != own   ? "over the median of the others"
         : c->story ? "since the last good peak"
                    : mpr_arena_format(&c->doc->arena, "since %s", mpr_doc_time(c->doc, g->time)));
}

/* ---- the cause */

/* Returns the answer of a replay with expandable segments, or NULL without one. */
static const struct mpr_fit *replayed_fit(const struct mpr_oom_event *s)
{
    for (size_t i = 0; s && i < s->fits; i++)
        if (s->fit[i].replayed) return &s->fit[i];
    return NULL;
}

/* What to do about fragmentation whose usual remedy was computed. */
static void what_replay_says(struct cause *c, const struct mpr_fit *replayed)
{
    const char *usual = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
    const char *other = "allocate long-lived tensors before temporary ones";
    if (replayed->fits) LINE(c, "do", "%s: the request would have fit; or %s", usual, other);
    else LINE(c, "do", "%s; %s would still be %s short", other, usual, size(c, replayed->missing));
}

static void why(struct cause *c)
{
    const struct mpr_finding *f = finding_of(c);
    const struct mpr_oom_event *s = c->story;
    const struct mpr_host_oom *host = &c->log->host;
    const struct mpr_rlimit *limit = &host->newest.limit;
    const uint64_t lacking = missing(s);
    const struct mpr_fit *fit = NULL; /* the first change with which the request would have fit */
    for (size_t i = 0; s && !fit && i < s->fits; i++)
        if (s->fit[i].fits) fit = &s->fit[i];
    if (s && s->total != MPF_UNKNOWN && s->bytes > s->total) {
        label(c, "why");
        mpr_doc_line(c->doc, "%s was requested from a device that has %s", size(c, s->bytes),
                     size(c, s->total));
        return;
    }
    if (!own_files(c) && is_elsewhere(c)) {
        elsewhere(c);
        return;
    }
    if (own_files(c)) {
        LINE(c, "why", "memprof's own log and journal on tmpfs held %s of the cgroup's limit of %s",
             size(c, own_files(c)), size(c, host->cgroup.value[MPF_CGROUP_LIMIT]));
        LINE(c, "do", "record to a disk: memprof run --output=DIR --journal-dir=DIR");
    } else if (!s && host->refused && limit->name) {
        LINE(c, "why", "%s was refused: %s allows %s of %s, and the nearest sample has %s%s",
             size(c, host->newest.bytes), limit->name, size(c, limit->bytes), limit->of,
             size(c, limit->used),
             IF(limit->since, "; %s was allocated since", size(c, limit->since)));
        LINE(c, "do", "raise the limit (ulimit %s, setrlimit), or use less memory", limit->option);
    } else if (f && is_untouched(c, f->bytes)) untouched(c, f->bytes);
    else if (f && (!fit || f->bytes >= lacking)) {
        const struct mpr_fit *replayed = replayed_fit(s);
        LINE(c, "why", "%s", mpr_report_finding_words(c->doc, f));
        if (f->kind == MPR_FINDING_FRAGMENTATION && replayed) what_replay_says(c, replayed);
        else
            LINE(c, "do", "%s; saves %s%s%s%s", mpr_finding_text(&c->doc->arena, f).change,
                 f->estimated ? "about " : "", size(c, f->bytes), f->estimated ? "" : " at most",
                 IF(lacking, ", %s was missing", size(c, lacking)));
    } else if (fit) {
        const struct mpr_fit_text *text = &mpr_report_fit_text[fit->kind];
        LINE(c, "fits", "%s (%s): %s", text->what, size(c, fit->bytes), text->how);
    } else held(c);
    grew(c);
}

/* The cause is that of the newest event of a device without recovery, or else of host memory. */
static const struct mpr_oom_event *story_of(const struct mpr_ooms_log *log)
{
    const struct mpr_oom_event *found = NULL;
    for (size_t i = 0; i < log->stories; i++)
        if (log->story[i].hard) found = &log->story[i];
    return found;
}

void mpr_report_oom_why(struct mpr_document *doc, const struct mpr_ooms *ooms,
                        const struct mpr_ooms_log *log, const struct mpr_insights *insights)
{
    why(&(struct cause){ doc, ooms, log, insights, story_of(log), false });
}

/* The hint is about host memory, because all blocks of a device have a name. */
void mpr_report_oom_cause(struct mpr_document *doc, const struct mpr_ooms *ooms)
{
    static const struct mpr_insights none;
    const struct mpr_ooms_log *log = ooms->explained;
    mpr_report_finding_fields(doc, log ? &ooms->insights : &none);
    if (!log) return;
    if (!story_of(log)) mpr_report_hint_alone(doc, &ooms->insights);
    mpr_report_oom_why(doc, ooms, log, &ooms->insights);
}
