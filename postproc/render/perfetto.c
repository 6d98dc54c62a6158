/* Perfetto sorts packets by time, and keeps the order of packets with the same time.  Slices of a
 * track must nest.  Ranges of a thread nest only within a domain, so each domain has its own track.
 */
#include "exports.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "contents.h"
#include "timeline.h"

/* Fields of protos/perfetto/trace */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60
};
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 }; /* sequence flags */
enum { SNAPSHOT_CLOCK = 1 };
enum { CLOCK_ID = 1, CLOCK_TIMESTAMP };
enum { CLOCK_REAL = 1, CLOCK_BOOT = 6 };
enum { TRACK_UUID = 1, TRACK_NAME, TRACK_PROCESS, TRACK_THREAD, TRACK_PARENT, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_CMDLINE = 2, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, UNIT_BYTES = 3 };
enum {
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_IID = 10,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_COUNTER_VALUE = 30
};
enum event_type { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER };
enum { ANNOTATION_NUMBER = 3, ANNOTATION_TEXT = 6, ANNOTATION_NAME = 10 };
enum { INTERNED_EVENT_NAMES = 2 };
enum { EVENT_NAME_ID = 1, EVENT_NAME_TEXT };

/* ---- packets */

static void write_packet(struct mpr_perfetto *p, unsigned field, uint64_t flags)
{
    struct mpr_blob head = { 0 };
    mpr_protobuf_number(&p->packet, PACKET_SEQUENCE, 1);
    if (flags) mpr_protobuf_number(&p->packet, PACKET_SEQUENCE_FLAGS, flags);
    mpr_protobuf_message(&p->packet, field, &p->data);
    mpr_protobuf_message(&head, TRACE_PACKET, &p->packet);
    fwrite(head.at, 1, head.bytes, p->out);
    mpr_blob_free(&head);
}

void mpr_perfetto_begin(struct mpr_perfetto *p, FILE *out)
{
    *p = (struct mpr_perfetto){ .out = out };
    const unsigned clock[] = { CLOCK_REAL, CLOCK_BOOT }; /* the packets' clock is the boot clock */
    for (size_t i = 0; i < sizeof clock / sizeof *clock; i++) {
        mpr_protobuf_number(&p->inside, CLOCK_ID, clock[i]);
        mpr_protobuf_number(&p->inside, CLOCK_TIMESTAMP, p->start_ns);
        mpr_protobuf_message(&p->data, SNAPSHOT_CLOCK, &p->inside);
    }
    write_packet(p, PACKET_CLOCK_SNAPSHOT, STATE_CLEARED);
}

static void begin_event(struct mpr_perfetto *p, uint64_t time_ns, enum event_type type,
                        uint64_t track)
{
    mpr_protobuf_number(&p->packet, PACKET_TIMESTAMP, p->start_ns + time_ns);
    mpr_protobuf_number(&p->data, EVENT_TYPE, type);
    mpr_protobuf_number(&p->data, EVENT_TRACK, track);
}

/* ---- tracks, with numbers that are unique in the trace */

enum track_kind { OF_PROCESS, OF_COUNTER, OF_THREAD, OF_DOMAIN };

static uint64_t track_of(const struct mpr_perfetto *p, enum track_kind kind, uint64_t number)
{
    return p->process << 40 | (uint64_t)kind << 36 | number;
}

static void describe(struct mpr_perfetto *p, uint64_t track, uint64_t parent, const char *name)
{
    mpr_protobuf_number(&p->data, TRACK_UUID, track);
    if (parent) mpr_protobuf_number(&p->data, TRACK_PARENT, parent);
    if (name) mpr_protobuf_text(&p->data, TRACK_NAME, name);
}

/* Returns a number for a process or a thread that no system uses.  Perfetto identifies processes by
 * pid, but several processes may have the same one in different hosts or containers.  Only the
 * first keeps its own. */
static uint64_t unused_number(struct mpr_perfetto *p)
{
    enum { MAX_PID = 1 << 22 }; /* PID_MAX_LIMIT of Linux */
    return MAX_PID + ++p->replaced;
}

/* Describes a process as "rank 1: python3", or as "rank 1: python3 (4242)" if the trace has another
 * pid for it. */
static void describe_process(struct mpr_perfetto *p, const struct mpr_process_info *process)
{
    char number[32] = "";
    const bool ranked = *process->rank;
    if (p->pid != process->pid) snprintf(number, sizeof number, " (%" PRIu64 ")", process->pid);
    char *name = mpr_text_format("%s%s%s%s%s", ranked ? "rank " : "", process->rank,
                                 ranked ? ": " : "", process->argc ? process->argv[0] : "", number);
    describe(p, track_of(p, OF_PROCESS, 0), 0, NULL);
    mpr_protobuf_number(&p->inside, PROCESS_PID, p->pid);
    for (size_t i = 0; i < process->argc; i++)
        mpr_protobuf_text(&p->inside, PROCESS_CMDLINE, process->argv[i]);
    mpr_protobuf_text(&p->inside, PROCESS_NAME, name);
    mpr_protobuf_message(&p->data, TRACK_PROCESS, &p->inside);
    write_packet(p, PACKET_TRACK_DESCRIPTOR, 0);
    free(name);
}

static void describe_counter(struct mpr_perfetto *p, uint64_t track, const char *name)
{
    describe(p, track, track_of(p, OF_PROCESS, 0), name);
    mpr_protobuf_number(&p->inside, COUNTER_UNIT, UNIT_BYTES);
    mpr_protobuf_message(&p->data, TRACK_COUNTER, &p->inside);
    write_packet(p, PACKET_TRACK_DESCRIPTOR, 0);
}

/* Returns the track of a thread.  Thread 4243 is described as "worker 3", or as "worker 3 (4243)"
 * if it has another number in the trace.  A thread with an unknown number has only a name. */
static uint64_t thread_track(struct mpr_perfetto *p, uint64_t number)
{
    const uint64_t track = track_of(p, OF_THREAD, number);
    if (mpr_index_get(&p->track, track)) return track;
    mpr_index_set(&p->track, track, 1);
    const struct mpr_frame *thread =
        number < p->timeline->threads ? p->timeline->thread[number] : &mpr_frame_none;
    const uint64_t own = thread->line;
    describe(p, track, own ? 0 : track_of(p, OF_PROCESS, 0), own ? NULL : thread->name);
    if (own) {
        const uint64_t pid = p->timeline->summary.process.pid;
        const uint64_t tid = p->pid == pid ? own : own == pid ? p->pid : unused_number(p);
        mpr_protobuf_number(&p->inside, THREAD_PID, p->pid);
        mpr_protobuf_number(&p->inside, THREAD_TID, tid);
        mpr_protobuf_text(&p->inside, THREAD_NAME, tid == own ? thread->name : thread->text);
        mpr_protobuf_message(&p->data, TRACK_THREAD, &p->inside);
    }
    write_packet(p, PACKET_TRACK_DESCRIPTOR, 0);
    return track;
}

/* Returns the track of a domain: that of the thread for the application's domain, "", and a track
 * below it for any other. */
static uint64_t domain_track(struct mpr_perfetto *p, uint64_t thread, const char *domain)
{
    const uint64_t parent = thread_track(p, thread);
    if (!*domain) return parent;
    const uint64_t key = mpr_hash(mpr_hash_text(domain) + parent);
    const uint32_t known = mpr_index_get(&p->track, key);
    if (known) return track_of(p, OF_DOMAIN, known);
    const uint32_t number = (uint32_t)p->track.count + 1;
    mpr_index_set(&p->track, key, number);
    describe(p, track_of(p, OF_DOMAIN, number), parent, domain);
    write_packet(p, PACKET_TRACK_DESCRIPTOR, 0);
    return track_of(p, OF_DOMAIN, number);
}

/* ---- counters */

static void put_value(struct mpr_perfetto *p, uint64_t track, uint64_t time, uint64_t value)
{
    begin_event(p, time, COUNTER, track);
    mpr_protobuf_number(&p->data, EVENT_COUNTER_VALUE, value < INT64_MAX ? value : INT64_MAX);
    write_packet(p, PACKET_TRACK_EVENT, 0);
}

static bool in_window(const struct mpr_perfetto *p, uint64_t time)
{
    return time >= p->timeline->options.from && time <= p->timeline->options.to;
}

/* Writes the maximum of each span at its time, and the span's last value at its end. */
static void put_heap(struct mpr_perfetto *p, uint64_t track, const struct mpr_heap_timeline *h)
{
    const struct mpr_timeline *t = p->timeline;
    const uint64_t end_of_window =
        t->options.to < t->summary.duration_ns ? t->options.to : t->summary.duration_ns;
    uint64_t newest = UINT64_MAX;
    describe_counter(p, track, mpr_heap_name(h->heap));
    for (size_t i = 0; i < h->spans; i++) {
        const struct mpr_span *s = &h->span[i];
        const uint64_t end = i + 1 < h->spans ? s[1].start - 1 : end_of_window;
        if (s->max != newest) put_value(p, track, s->time, s->max);
        if (s->close != s->max) put_value(p, track, end, s->close);
        newest = s->close;
    }
}

static void put_counters(struct mpr_perfetto *p, const struct mpr_timeline *t)
{
    for (size_t i = 0; i < t->heaps; i++) put_heap(p, track_of(p, OF_COUNTER, i), &t->heap[i]);
    for (size_t i = 0; i < MPR_TRACKS; i++) {
        const struct mpr_track_line *line = &t->track[i];
        const uint64_t track = track_of(p, OF_COUNTER, t->heaps + i);
        char gpu[32];
        if (!line->points) continue;
        snprintf(gpu, sizeof gpu, "gpu%zu used", i - MPR_TRACK_GPU);
        describe_counter(p, track,
                         i == MPR_TRACK_RSS      ? "RSS"
                         : i == MPR_TRACK_CGROUP ? "cgroup"
                                                 : gpu);
        for (const struct mpr_track_point *k = line->point; k < line->point + line->points; k++)
            if (in_window(p, k->time)) put_value(p, track, k->time, k->value);
    }
}

/* ---- instants */

static void annotate_number(struct mpr_perfetto *p, const char *name, uint64_t number)
{
    mpr_protobuf_text(&p->inside, ANNOTATION_NAME, name);
    mpr_protobuf_number(&p->inside, ANNOTATION_NUMBER, number);
    mpr_protobuf_message(&p->data, EVENT_ANNOTATION, &p->inside);
}

static void put_mark(struct mpr_perfetto *p, const struct mpr_mark *m)
{
    static const char *const names[] = { [MPR_MARK_NVTX] = "",
                                         [MPR_MARK_FAILED] = "allocation failed",
                                         [MPR_MARK_REFUSED] = "driver: out of memory",
                                         [MPR_MARK_OOM] = "PyTorch: out of memory",
                                         [MPR_MARK_GRAPH] = "graph captured" };
    static_assert(sizeof names / sizeof *names == MPR_MARK_GRAPH + 1, "each kind has a name");
    const bool graph = m->kind == MPR_MARK_GRAPH, failed = !graph && m->kind != MPR_MARK_NVTX;
    const char *name = m->kind == MPR_MARK_NVTX         ? m->text
                       : graph && m->graph.instantiated ? "graph instantiated"
                                                        : names[m->kind];
    const uint64_t track = thread_track(p, m->thread);
    begin_event(p, m->time, INSTANT, track);
    mpr_protobuf_text(&p->data, EVENT_NAME, name);
    if (m->heap) {
        mpr_protobuf_text(&p->inside, ANNOTATION_NAME, "heap");
        mpr_protobuf_text(&p->inside, ANNOTATION_TEXT, mpr_heap_name(m->heap));
        mpr_protobuf_message(&p->data, EVENT_ANNOTATION, &p->inside);
    }
    if (failed) annotate_number(p, "bytes asked for", m->bytes);
    if (failed && m->free_bytes != UINT64_MAX) annotate_number(p, "bytes free", m->free_bytes);
    if (graph) annotate_number(p, "nodes", m->graph.nodes);
    if (graph) annotate_number(p, "bytes of segments", m->graph.segment_bytes);
    write_packet(p, PACKET_TRACK_EVENT, 0);
}

void mpr_perfetto_process(struct mpr_perfetto *p, const struct mpr_timeline *timeline)
{
    p->process++;
    p->timeline = timeline;
    const uint64_t pid = timeline->summary.process.pid;
    p->pid = mpr_index_get(&p->pids, pid) ? unused_number(p) : pid;
    mpr_index_set(&p->pids, p->pid, 1);
    p->start_ns = timeline->summary.process.start_ns;
    describe_process(p, &timeline->summary.process);
    put_counters(p, timeline);
    for (size_t i = 0; i < timeline->marks; i++)
        if (in_window(p, timeline->mark[i].time)) put_mark(p, &timeline->mark[i]);
}

/* ---- slices */

/* Returns the number of a name.  The packet of its first use defines it. */
static uint32_t name_of(struct mpr_perfetto *p, const char *name)
{
    const uint32_t known = p->names.count, number = mpr_strings_number(&p->names, name);
    if (number <= known) return number;
    mpr_protobuf_number(&p->deepest, EVENT_NAME_ID, number);
    mpr_protobuf_text(&p->deepest, EVENT_NAME_TEXT, name);
    mpr_protobuf_message(&p->inside, INTERNED_EVENT_NAMES, &p->deepest);
    mpr_protobuf_message(&p->packet, PACKET_INTERNED_DATA, &p->inside);
    return number;
}

void mpr_perfetto_range_event(struct mpr_perfetto *p, const struct mpr_range_event *event)
{
    const uint64_t track = domain_track(p, event->thread, event->domain);
    begin_event(p, event->time_ns, event->begins ? SLICE_BEGIN : SLICE_END, track);
    if (event->begins) mpr_protobuf_number(&p->data, EVENT_NAME_IID, name_of(p, event->name));
    write_packet(p, PACKET_TRACK_EVENT, event->begins ? NEEDS_STATE : 0);
}

void mpr_perfetto_free(struct mpr_perfetto *p)
{
    mpr_blob_free(&p->packet);
    mpr_blob_free(&p->data);
    mpr_blob_free(&p->inside);
    mpr_blob_free(&p->deepest);
    mpr_strings_free(&p->names);
    mpr_index_free(&p->track);
    mpr_index_free(&p->pids);
}
