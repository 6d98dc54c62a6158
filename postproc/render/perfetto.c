/* Packets need be in no order: Perfetto sorts them by time, and keeps the order of those of one
 * time.  Slices of a track nest, so each domain of a thread has a track of its own: only within a
 * domain what is pushed last is popped first. */
#include "perfetto.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "protobuf.h"
#include "range_turns.h"
#include "timeline_result.h"

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

static void put_clock(struct mpr_perfetto *p, unsigned id)
{
    mpr_protobuf_number(&p->inside, CLOCK_ID, id);
    mpr_protobuf_number(&p->inside, CLOCK_TIMESTAMP, p->start_ns);
    mpr_protobuf_message(&p->data, SNAPSHOT_CLOCK, &p->inside);
}

void mpr_perfetto_begin(struct mpr_perfetto *p, FILE *out)
{
    *p = (struct mpr_perfetto){ .out = out };
    put_clock(p, CLOCK_REAL); /* that of packets is called the boot clock */
    put_clock(p, CLOCK_BOOT);
    write_packet(p, PACKET_CLOCK_SNAPSHOT, STATE_CLEARED);
}

static void begin_event(struct mpr_perfetto *p, uint64_t time_ns, enum event_type type,
                        uint64_t track)
{
    mpr_protobuf_number(&p->packet, PACKET_TIMESTAMP, p->start_ns + time_ns);
    mpr_protobuf_number(&p->data, EVENT_TYPE, type);
    mpr_protobuf_number(&p->data, EVENT_TRACK, track);
}

/* ---- tracks: numbers that no other track of the trace has */

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

/* Processes of other hosts and containers may have the same pid, which Perfetto takes for one
 * process: the first one keeps it, others and their threads get numbers that no system gives. */
static uint64_t made_number(struct mpr_perfetto *p)
{
    enum { PID_MOST = 1 << 22 }; /* PID_MAX_LIMIT of Linux */
    return PID_MOST + ++p->made;
}

static void choose_pid(struct mpr_perfetto *p, uint64_t pid)
{
    p->pid = mpr_index_get(&p->pids, pid) ? made_number(p) : pid;
    mpr_index_set(&p->pids, p->pid, 1);
}

static uint64_t tid_of(struct mpr_perfetto *p, uint64_t tid)
{
    const uint64_t pid = p->timeline->summary.process.pid;
    if (p->pid == pid) return tid;
    return tid == pid ? p->pid : made_number(p);
}

/* "rank 1: python3 (4242)": the number where the trace has another one. */
static char *process_name(const struct mpr_perfetto *p, const struct mpr_process_info *process)
{
    char number[32] = "";
    const bool ranked = *process->rank;
    if (p->pid != process->pid) snprintf(number, sizeof number, " (%" PRIu64 ")", process->pid);
    return mpr_text_format("%s%s%s%s%s", ranked ? "rank " : "", process->rank, ranked ? ": " : "",
                           process->argc ? process->argv[0] : "", number);
}

static void describe_process(struct mpr_perfetto *p, const struct mpr_process_info *process)
{
    char *name = process_name(p, process);
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

/* "worker 3 (4243)" is the thread 4243, and is called so where the trace has another number; one
 * whose number is not known is a track by name only. */
static void describe_thread(struct mpr_perfetto *p, uint64_t track, const struct mpr_frame *thread)
{
    const uint64_t own = thread->line;
    describe(p, track, own ? 0 : track_of(p, OF_PROCESS, 0), own ? NULL : thread->name);
    if (own) {
        const uint64_t tid = tid_of(p, own);
        mpr_protobuf_number(&p->inside, THREAD_PID, p->pid);
        mpr_protobuf_number(&p->inside, THREAD_TID, tid);
        mpr_protobuf_text(&p->inside, THREAD_NAME, tid == own ? thread->name : thread->text);
        mpr_protobuf_message(&p->data, TRACK_THREAD, &p->inside);
    }
    write_packet(p, PACKET_TRACK_DESCRIPTOR, 0);
}

static uint64_t thread_track(struct mpr_perfetto *p, uint64_t thread)
{
    const uint64_t track = track_of(p, OF_THREAD, thread);
    if (mpr_index_get(&p->track, track)) return track;
    describe_thread(p, track,
                    thread < p->timeline->threads ? p->timeline->thread[thread] : &mpr_frame_none);
    mpr_index_set(&p->track, track, 1);
    return track;
}

/* Of another domain than the application's own a track below the thread's. */
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

static bool is_asked_for(const struct mpr_perfetto *p, uint64_t time)
{
    return time >= p->timeline->options.from && time <= p->timeline->options.to;
}

/* When what is asked for ends. */
static uint64_t end_of(const struct mpr_timeline *t)
{
    return t->options.to < t->summary.duration_ns ? t->options.to : t->summary.duration_ns;
}

/* A heap's spans: the most in each when it was so, and what it ends with. */
static void put_heap(struct mpr_perfetto *p, uint64_t track, const struct mpr_heap_line *h)
{
    uint64_t newest = UINT64_MAX;
    describe_counter(p, track, mpr_heap_name(h->heap));
    for (size_t i = 0; i < h->spans; i++) {
        const struct mpr_span *s = &h->span[i];
        const uint64_t end = i + 1 < h->spans ? s[1].start - 1 : end_of(p->timeline);
        if (s->max != newest) put_value(p, track, s->time, s->max);
        if (s->close != s->max) put_value(p, track, end, s->close);
        newest = s->close;
    }
}

static void put_readings(struct mpr_perfetto *p, uint64_t track, const char *name,
                         const struct mpr_track_line *line)
{
    if (!line->points) return;
    describe_counter(p, track, name);
    for (size_t i = 0; i < line->points; i++)
        if (is_asked_for(p, line->point[i].time))
            put_value(p, track, line->point[i].time, line->point[i].value);
}

static void put_counters(struct mpr_perfetto *p, const struct mpr_timeline *t)
{
    for (size_t i = 0; i < t->heaps; i++) put_heap(p, track_of(p, OF_COUNTER, i), &t->heap[i]);
    for (size_t i = 0; i < MPR_TRACKS; i++) {
        char gpu[32];
        snprintf(gpu, sizeof gpu, "gpu%zu used", i - MPR_TRACK_GPU);
        const char *name = i == MPR_TRACK_RSS ? "RSS" : i == MPR_TRACK_CGROUP ? "cgroup" : gpu;
        put_readings(p, track_of(p, OF_COUNTER, t->heaps + i), name, &t->track[i]);
    }
}

/* ---- instants */

static void annotate_number(struct mpr_perfetto *p, const char *name, uint64_t number)
{
    mpr_protobuf_text(&p->inside, ANNOTATION_NAME, name);
    mpr_protobuf_number(&p->inside, ANNOTATION_NUMBER, number);
    mpr_protobuf_message(&p->data, EVENT_ANNOTATION, &p->inside);
}

static void annotate_text(struct mpr_perfetto *p, const char *name, const char *text)
{
    if (!*text) return;
    mpr_protobuf_text(&p->inside, ANNOTATION_NAME, name);
    mpr_protobuf_text(&p->inside, ANNOTATION_TEXT, text);
    mpr_protobuf_message(&p->data, EVENT_ANNOTATION, &p->inside);
}

static const char *mark_name(const struct mpr_mark *m)
{
    static const char *const name[] = { [MPR_MARK_NVTX] = "",
                                        [MPR_MARK_FAILED] = "allocation failed",
                                        [MPR_MARK_REFUSED] = "driver: out of memory",
                                        [MPR_MARK_OOM] = "PyTorch: out of memory",
                                        [MPR_MARK_GRAPH] = "graph captured" };
    static_assert(sizeof name / sizeof *name == MPR_MARK_GRAPH + 1, "each kind has its name");
    if (m->kind == MPR_MARK_NVTX) return m->text;
    return m->kind == MPR_MARK_GRAPH && m->graph.instantiated ? "graph instantiated"
                                                              : name[m->kind];
}

static void put_mark(struct mpr_perfetto *p, const struct mpr_mark *m)
{
    const bool graph = m->kind == MPR_MARK_GRAPH, failed = !graph && m->kind != MPR_MARK_NVTX;
    const uint64_t track = thread_track(p, m->thread);
    begin_event(p, m->time, INSTANT, track);
    mpr_protobuf_text(&p->data, EVENT_NAME, mark_name(m));
    annotate_text(p, "heap", mpr_heap_name(m->heap));
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
    choose_pid(p, timeline->summary.process.pid);
    p->start_ns = timeline->summary.process.start_ns;
    describe_process(p, &timeline->summary.process);
    put_counters(p, timeline);
    for (size_t i = 0; i < timeline->marks; i++)
        if (is_asked_for(p, timeline->mark[i].time)) put_mark(p, &timeline->mark[i]);
}

/* ---- slices */

/* The name's number; it is told in the packet of its first use. */
static uint32_t name_of(struct mpr_perfetto *p, const char *name)
{
    const uint64_t hash = mpr_hash_text(name);
    uint32_t number;
    for (struct mpr_probe at = mpr_index_probe(&p->name, hash); (number = mpr_probe_next(&at));)
        if (strcmp(p->text[number - 1], name) == 0) return number;
    MPR_GROW(p->text, p->names, p->name_cap);
    p->text[p->names] = mpr_arena_text(&p->arena, name);
    mpr_index_add(&p->name, hash, ++p->names);
    mpr_protobuf_number(&p->deepest, EVENT_NAME_ID, p->names);
    mpr_protobuf_text(&p->deepest, EVENT_NAME_TEXT, name);
    mpr_protobuf_message(&p->inside, INTERNED_EVENT_NAMES, &p->deepest);
    mpr_protobuf_message(&p->packet, PACKET_INTERNED_DATA, &p->inside);
    return p->names;
}

void mpr_perfetto_turn(struct mpr_perfetto *p, const struct mpr_range_turn *turn)
{
    const uint64_t track = domain_track(p, turn->thread, turn->domain);
    begin_event(p, turn->time_ns, turn->begins ? SLICE_BEGIN : SLICE_END, track);
    if (turn->begins) mpr_protobuf_number(&p->data, EVENT_NAME_IID, name_of(p, turn->name));
    write_packet(p, PACKET_TRACK_EVENT, turn->begins ? NEEDS_STATE : 0);
}

void mpr_perfetto_free(struct mpr_perfetto *p)
{
    mpr_blob_free(&p->packet);
    mpr_blob_free(&p->data);
    mpr_blob_free(&p->inside);
    mpr_blob_free(&p->deepest);
    mpr_arena_free(&p->arena);
    mpr_index_free(&p->name);
    mpr_index_free(&p->track);
    mpr_index_free(&p->pids);
    free(p->text);
}
