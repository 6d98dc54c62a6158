/* The processes of a run: as a tree; and in two lines, with the process that started it, the
 * reported process, and the largest or a dead one. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "amount.h"
#include "basename.h"
#include "mpf/sample.h"
#include "naming.h"
#include "processes.h"
#include "reports.h"
#include "utf8.h"

enum { GENERATIONS = 8 }; /* more are not shown by indentation */

#define OF(member) MPR_FIELD(mpr_family_line, member)

/* "    8 x worker" */
static struct mpr_value indented(struct mpr_document *doc, const struct mpr_family_line *l)
{
    const int indent = 2 * (int)(l->depth < GENERATIONS ? l->depth : GENERATIONS);
    const char *times = l->processes == 1 ? ""
                                          : mpr_arena_format(&doc->arena, "%s x ",
                                                             mpr_doc_count(doc, l->processes));
    const char *text = mpr_arena_format(&doc->arena, "%*s%s%s", indent, "", times, l->title);
    const struct mpr_frame **title = mpr_arena_alloc(&doc->arena, sizeof *title);
    *title = mpr_frame_named(&doc->arena, MPR_FRAME_LABEL, text);
    return mpr_value_title(title, strlen(text) - strlen(l->title) + strcspn(l->title, " "));
}

MPR_VALUE(title, mpr_family_line, l, indented(doc, l))
MPR_VALUE(rank, mpr_family_line, l,
          mpr_value_text(l->processes > 1 ? "" : l->largest->summary.process.rank))
MPR_VALUE(pid, mpr_family_line, l, mpr_value_known(MPR_COUNT, l->largest->summary.process.pid, 0))
MPR_VALUE(shown_pid, mpr_family_line, l,
          mpr_value_text(mpr_arena_format(&doc->arena, "%" PRIu64,
                                          l->largest->summary.process.pid)))
MPR_VALUE(last_ended, mpr_family_line, l,
          mpr_value_text(mpr_report_ending(&doc->arena, &l->last->summary)))

/* Returns the bytes of the heap, which are unknown if it was not recorded. */
static struct mpr_value of_heap(const struct mpr_summary *s, uint64_t bytes, bool is_approximate)
{
    const bool off = s->recording.blocks == MPR_RECORDED_OFF;
    return off ? mpr_value_unknown : mpr_value_about(bytes, is_approximate);
}

MPR_VALUE(host_heap, mpr_family_line, l,
          of_heap(&l->largest->summary, l->host_bytes, l->host_is_approximate))
MPR_VALUE(heap_end, mpr_family_line, l, of_heap(&l->largest->summary, l->end_bytes, false))
MPR_VALUE(largest, mpr_family_line, l,
          mpr_value_about(l->largest->peak_bytes, l->largest->is_approximate))

// clang-format off
static const struct mpr_column tree_columns[] = {
    { .key = "title", .title = "process", .type = MPR_TEXT, OF(title), MPR_SHOWN(MPR_PATH, title) },
    { .key = "depth", .type = MPR_COUNT, OF(depth) },
    { .key = "processes", .type = MPR_COUNT, OF(processes) },
    { .key = "rank", .title = "rank", .type = MPR_TEXT, .get = rank, .if_any = true, .width = 5 },
    { .key = "pid", .title = "pid", .type = MPR_COUNT, .get = pid, MPR_SHOWN(MPR_TEXT, shown_pid),
      .width = 7 },
    { .key = "duration_ns", .title = "lifetime", .type = MPR_SPAN, OF(lived_ns), .spare = 2 },
    { .key = "largest_peak_bytes", .title = "largest heap", .type = MPR_BYTES, .get = largest,
      .spare = 4 },
    { .key = "host_heap_peak_bytes", .title = "host/heap", .type = MPR_BYTES, .get = host_heap,
      .sums = true },
    { .key = "device_peak_bytes", .title = "device", .type = MPR_BYTES, OF(gpu_bytes),
      .if_any = true, .sums = true },
    { .key = "rss_high_water_bytes", .title = "RSS peak", .type = MPR_BYTES, OF(rss_bytes),
      .sums = true, .unless = MPR_UNKNOWN_AT_MAX, .spare = 5 },
    { .key = "host_heap_end_bytes", .title = "heap at end", .type = MPR_BYTES, .get = heap_end,
      MPR_SHOWN_FIELD(MPR_BYTES, mpr_family_line, end_bytes), .width = 13, .sums = true,
      .spare = 1 },
    { .key = "ended", .title = "ended", .type = MPR_TEXT, .get = last_ended, .beside = true },
};
// clang-format on

static void tree(struct mpr_document *doc, const struct mpr_processes *all)
{
    size_t lines;
    bool folds = false;
    const bool unfold = doc->naming && doc->naming->unfold;
    const struct mpr_family_line *line = mpr_family(&doc->arena, all, unfold, NULL, &lines);
    mpr_doc_rows(doc, tree_columns, line, lines, .key = "tree", .title = "processes",
                 .all = MPR_IN_JSON, .total = "all");
    for (size_t i = 0; i < lines; i++) folds |= line[i].processes > 1;
    if (lines > 1) mpr_doc_line(doc, "  all: the peaks may be at different times");
    if (folds) mpr_doc_line(doc, "  N x: sums; pid and largest are those of the largest process");
}

/* ---- above the tree */

static const struct mpr_column rest_fields[] = {
    { .key = "processes", .type = MPR_COUNT, MPR_FIELD(mpr_without_log, processes) },
    { .key = "unseen", .type = MPR_COUNT, MPR_FIELD(mpr_without_log, unseen) },
    { .key = "rss_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_without_log, rss_bytes) },
    { .key = "largest_rss_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_without_log, largest) },
};

void mpr_report_without_log(struct mpr_document *doc, const struct mpr_without_log *rest)
{
    if (!rest->processes) return;
    mpr_doc_object(doc, "without_log", rest_fields, rest);
    mpr_doc_add_plain(doc, "%s left no log, with %s of RSS",
                      mpr_doc_counted(doc, rest->processes, "process", "processes"),
                      mpr_doc_size(doc, rest->rss_bytes));
    if (rest->processes > 1)
        mpr_doc_add_plain(doc, " in all, the largest %s", mpr_doc_size(doc, rest->largest));
    mpr_doc_add_plain(doc, ": RSS stayed below --min-rss");
    if (rest->unseen)
        mpr_doc_add_plain(doc, ", or memprof was not loaded (%s)",
                          mpr_doc_count(doc, rest->unseen));
    mpr_doc_end_wrapped(doc, 2);
}

static void one_run(struct mpr_document *doc, const struct mpr_processes *all)
{
    size_t processes = 0, incomplete = 0;
    uint64_t from = UINT64_MAX, to = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct mpr_summary *s = &all->at[i].summary;
        const uint64_t end = s->process.start_ns + s->duration_ns;
        processes += all->at[i].previous_program == MPR_NO_PROCESS;
        incomplete += s->incomplete;
        if (s->process.start_ns < from) from = s->process.start_ns;
        if (end > to) to = end;
    }
    mpr_doc_line(doc, "%s, %s; %s from the first start to the last end",
                 mpr_doc_counted(doc, processes, "process", "processes"),
                 mpr_doc_counted(doc, all->count, "log", "logs"),
                 mpr_doc_duration(doc, mpr_saturating_sub(to, from)));
    mpr_report_without_log(doc, &all->run->without_log);
    if (incomplete) {
        mpr_doc_add(doc, MPR_WARN,
                    "warning: events are missing in %s of them (for the reason: log verify --pid)",
                    mpr_doc_count(doc, incomplete));
        mpr_doc_end(doc);
    }
    tree(doc, all);
}

/* ---- for tools */

static struct mpr_value index_of(size_t index)
{
    return index == MPR_NO_PROCESS ? mpr_value_unknown : mpr_value_number(MPR_COUNT, index);
}

static const struct mpr_column heap_columns[] = {
    { .key = "heap", .type = MPR_WORD, MPR_FIELD(mpr_process_heap, heap) },
    { .key = "peak_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_process_heap, peak_bytes) },
    { .key = "peak_time_ns", .type = MPR_TIME, MPR_FIELD(mpr_process_heap, peak_time) },
    { .key = "end_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_process_heap, end_bytes) },
};

#undef OF
#define OF(member) MPR_FIELD(mpr_process, member)

MPR_VALUE(host_peak, mpr_process, p, of_heap(&p->summary, p->host.peak_bytes, false))
MPR_VALUE(host_end, mpr_process, p, of_heap(&p->summary, p->host.end_bytes, false))
MPR_VALUE(ended, mpr_process, p, mpr_value_text(mpr_report_ending(&doc->arena, &p->summary)))

// clang-format off
static const struct mpr_column record_columns[] = {
    { .key = "log", .type = MPR_TEXT, OF(summary.path) },
    { .key = "host", .type = MPR_TEXT, OF(summary.process.host) },
    { .key = "pid", .type = MPR_COUNT, OF(summary.process.pid), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "ppid", .type = MPR_COUNT, OF(summary.process.ppid), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "rank", .type = MPR_TEXT, OF(summary.process.rank) },
    { .key = "title", .type = MPR_TEXT, OF(title) },
    { .key = "start_ns", .type = MPR_COUNT, OF(summary.process.start_ns),
      .unless = MPR_UNKNOWN_AT_0 },
    { .key = "duration_ns", .type = MPR_SPAN, OF(summary.duration_ns) },
    { .key = "ended", .type = MPR_TEXT, .get = ended },
    { .key = "largest_peak_bytes", .type = MPR_BYTES, OF(peak_bytes) },
    { .key = "host_heap_peak_bytes", .type = MPR_BYTES, .get = host_peak },
    { .key = "host_heap_end_bytes", .type = MPR_BYTES, .get = host_end },
    { .key = "device", .type = MPR_TEXT, OF(gpu.heap) },
    { .key = "device_peak_bytes", .type = MPR_BYTES, OF(gpu.peak_bytes) },
    { .key = "device_end_bytes", .type = MPR_BYTES, OF(gpu.end_bytes) },
    { .key = "rss_high_water_bytes", .type = MPR_BYTES, OF(rss_high),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "incomplete", .type = MPR_FLAG, OF(summary.incomplete) },
    { .key = "run", .type = MPR_TEXT, OF(summary.process.run) },
};
// clang-format on

void mpr_report_processes(struct mpr_document *doc, const struct mpr_processes *all)
{
    mpr_report_schema(doc, "memprof.processes/1");
    if (all->runs > 1) {
        mpr_doc_line(doc, "%zu runs, shown separately", all->runs);
        mpr_doc_list(doc, "runs");
        /* runs are not added up */
        for (size_t i = 0; i < all->runs; i++) {
            const struct mpr_processes of = mpr_processes_of_run(all, &doc->arena, &all->run[i]);
            const char *id = of.run->id,
                       *start = mpr_report_utc(doc, of.at[0].summary.process.start_ns);
            mpr_doc_gap(doc);
            mpr_doc_open(doc, NULL);
            mpr_doc_fact(doc, "run", mpr_value_known_text(id, MPR_UNKNOWN));
            mpr_doc_line(doc, "%s%s%s%s", *id ? "run " : "logs without a run id", id,
                         *start ? ", began at " : "", start);
            one_run(doc, &of);
            mpr_doc_close(doc);
        }
        mpr_doc_close(doc);
    } else one_run(doc, all);
    mpr_doc_list(doc, "logs");
    for (size_t i = 0; i < all->count; i++) {
        const struct mpr_process *p = &all->at[i];
        mpr_doc_open(doc, NULL);
        mpr_report_log_fields(doc, &p->summary);
        mpr_doc_fact(doc, "ended", mpr_value_text(mpr_report_ending(&doc->arena, &p->summary)));
        mpr_doc_fact(doc, "parent", index_of(p->parent));
        mpr_doc_fact(doc, "executed", index_of(p->next_program));
        mpr_doc_fact(doc, "rss_high_water_bytes",
                     mpr_value_known(MPR_BYTES, p->rss_high, MPF_UNKNOWN));
        mpr_doc_objects(doc, "heaps", heap_columns, p->heap, p->heaps);
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
    mpr_doc_rows(doc, record_columns, all->at, all->count, .only = MPR_IN_CSV);
    mpr_doc_csv(doc, record_columns);
}

enum { KINDS = 2, WORD = 24 };

/* ---- in two lines: titles of processes */

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0) return true;
    return false;
}

/* Options whose argument is the program to run. */
static const char *const runs[] = { "-m", "-c", "-jar" };

/* Returns the index of the argument that is the program to run, or argc. It is the one after -m,
 * -c or -jar, otherwise the first that is not an option. After options the first file
 * ("train.py", "./worker") is preferred, because another word may be the value of an option. */
static size_t program_argument(const struct mpr_process_info *p)
{
    static const char *const takes[] = { "-W", "-X" };
    size_t first = 1;
    for (; first < p->argc; first++) {
        const char *word = p->argv[first];
        if (is_one_of(word, runs, 3) && first + 1 < p->argc) return first + 1;
        if (is_one_of(word, takes, 2)) first++;
        else if (*word != '-') break;
    }
    for (size_t i = first; first > 1 && i < p->argc; i++) {
        const char *word = p->argv[i];
        if (*word != '-' && (*word < '0' || *word > '9') && strpbrk(word, "./")) return i;
    }
    return first;
}

/* Returns what Python's multiprocessing runs with this code after -c, or NULL. */
static const char *code_title(const char *code)
{
    static const struct {
        const char *begin, *title;
    } known[] = {
        { "from multiprocessing.spawn import", "multiprocessing worker (spawn)" },
        { "from multiprocessing.forkserver import", "multiprocessing fork server" },
        { "from multiprocessing.resource_tracker import", "multiprocessing resource tracker" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(code, known[i].begin, strlen(known[i].begin)) == 0) return known[i].title;
    return NULL;
}

const char *mpr_report_program(struct mpr_document *doc, const struct mpr_process_info *p)
{
    if (!p->argc) return "unknown program";
    const size_t what = program_argument(p);
    const char *program = mpr_utf8_shortened(&doc->arena, mpr_basename(p->argv[0]), WORD);
    if (what >= p->argc) return program;
    const char *option = is_one_of(p->argv[what - 1], runs, 3) ? p->argv[what - 1] : "",
               *text = p->argv[what];
    if (strcmp(option, "-c") != 0) text = mpr_basename(text);
    else if (code_title(text)) return code_title(text);
    return mpr_arena_format(&doc->arena, "%s %s%s%s", program, option, *option ? " " : "",
                            mpr_utf8_shortened(&doc->arena, text, WORD));
}

const char *mpr_report_command(struct mpr_document *doc, const struct mpr_process_info *p)
{
    enum { COLUMNS = 60, ARGUMENT = 40 };
    if (!p->argc) return "unknown program";
    const size_t what = program_argument(p);
    const char *text = mpr_utf8_shortened(&doc->arena, mpr_basename(p->argv[0]), ARGUMENT);
    size_t i = 1;
    for (; i < p->argc && mpr_utf8_columns(text) < COLUMNS; i++) {
        const bool is_code = i == what && strcmp(p->argv[i - 1], "-c") == 0;
        if (is_code && code_title(p->argv[i])) return code_title(p->argv[i]);
        const char *word = i == what && !is_code ? mpr_basename(p->argv[i]) : p->argv[i];
        text = mpr_arena_format(&doc->arena, "%s %s", text,
                                mpr_utf8_shortened(&doc->arena, word, ARGUMENT));
    }
    return i < p->argc ? mpr_arena_format(&doc->arena, "%s ...", text) : text;
}

/* ---- ends and peaks */

/* Returns how the process ended, or "" if it runs or ended normally. SIGTERM is normal for a
 * process that another one of the run started, like the workers of a pool or a DataLoader. */
static const char *how_it_died(struct mpr_document *doc, const struct mpr_process *p)
{
    const struct mpr_summary *s = &p->summary;
    const bool own = s->fate == MPR_FATE_OWN, oom = s->oom != MPR_FATE_NO_OOM,
               fine = own ? s->end == MPF_END_EXIT || s->end == MPF_END_EXIT_NOW
                          : s->fate == MPR_FATE_EXIT,
               dismissed = p->parent != MPR_NO_PROCESS && s->fate == MPR_FATE_SIGNAL &&
                           s->fate_status == SIGTERM && !oom;
    if (s->life == MPR_RUNS || dismissed || (!oom && fine && !s->fate_status)) return "";
    if (!oom && (s->fate == MPR_FATE_UNKNOWN || (own && !s->end))) return "exit status unknown";
    return mpr_report_ending(&doc->arena, s);
}

/* Returns " 404.00 MiB of host/heap", or " 404.00 MiB" for the same heap as before; "" if nothing
 * was recorded.  *heap: the heap that was named before. */
static const char *held_words(struct mpr_document *doc, const struct mpr_process *p, uint8_t *heap)
{
    size_t i = 0;
    while (i < p->heaps && p->heap[i].peak_bytes < p->peak_bytes) i++;
    if (i == p->heaps) return "";
    const char *size = mpr_arena_format(&doc->arena, "%s%s", p->heap[i].is_approximate ? "~" : "",
                                        mpr_doc_size(doc, p->peak_bytes));
    if (*heap == p->heap[i].heap) return mpr_arena_format(&doc->arena, " %s", size);
    *heap = p->heap[i].heap;
    return mpr_arena_format(&doc->arena, " %s of %s", size, mpr_heap_name(*heap));
}

/* Returns "3 x worker {1..3} up to 404.00 MiB of host/heap", or "python3 train.py (pid 7) 401.37
 * MiB of host/heap, OOM-killed".  @root: the process that started the run, or NULL: a process with
 * the same title is its fork. */
static const char *line_words(struct mpr_document *doc, const struct mpr_family_line *l,
                              const struct mpr_family_line *root, uint8_t *heap)
{
    const struct mpr_process_info *p = &l->last->summary.process;
    const bool forked = root && strcmp(l->last->title, root->last->title) == 0;
    const char *title = forked ? "forked" : mpr_report_program(doc, p),
               *size = held_words(doc, l->largest, heap), *died = how_it_died(doc, l->last),
               *comma = *died ? ", " : "";
    if (l->processes == 1)
        return mpr_arena_format(&doc->arena, "%s (%s%s%spid %" PRIu64 ")%s%s%s", title,
                                *p->rank ? "rank " : "", p->rank, *p->rank ? ", " : "", p->pid,
                                size, comma, died);
    if (!forked && strcmp(l->title, l->last->title) != 0)
        title = mpr_utf8_shortened(&doc->arena, l->title, 2 * WORD);
    return mpr_arena_format(&doc->arena, "%s x %s%s%s%s%s", mpr_doc_count(doc, l->processes), title,
                            *size ? " up to" : "", size, comma, died);
}

/* ---- the lines that are shown */

/* Chooses the reported line, the first that died, and the first that did not. @line: sorted by
 * size. */
static size_t choose(struct mpr_document *doc, const struct mpr_family_line *line, size_t lines,
                     const struct mpr_family_line *chosen[KINDS])
{
    size_t count = 0;
    for (size_t i = 0; i < lines && count < KINDS; i++)
        if (line[i].is_separate) chosen[count++] = &line[i];
    for (int dead = 1; dead >= 0; dead--)
        for (size_t i = 0; i < lines && count < KINDS; i++)
            if (!line[i].is_separate && (*how_it_died(doc, line[i].last) != 0) == dead) {
                chosen[count++] = &line[i];
                break;
            }
    return count;
}

static uint64_t processes_of(const struct mpr_family_line *line, size_t lines)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < lines; i++) sum += line[i].processes;
    return sum;
}

/* ---- all */

#define OF_LINE(member) MPR_FIELD(mpr_family_line, member)

MPR_VALUE(line_peak, mpr_family_line, l, mpr_value_number(MPR_BYTES, l->largest->peak_bytes))

static const struct mpr_column line_columns[] = {
    { .key = "title", .type = MPR_TEXT, OF_LINE(title) },
    { .key = "processes", .type = MPR_COUNT, OF_LINE(processes) },
    { .key = "depth", .type = MPR_COUNT, OF_LINE(depth) },
    { .key = "largest_peak_bytes", .type = MPR_BYTES, .get = line_peak },
    { .key = "reported", .type = MPR_FLAG, OF_LINE(is_separate) },
};

void mpr_report_family(struct mpr_document *doc, const struct mpr_processes *all,
                       const char *reported, bool only_fields)
{
    size_t lines;
    const struct mpr_process_run *run = mpr_processes_run_of(all, reported);
    if (!run) return;
    const struct mpr_processes of = mpr_processes_of_run(all, &doc->arena, run);
    const struct mpr_family_line *line = mpr_family(&doc->arena, &of, false, reported, &lines);
    mpr_doc_objects(doc, "processes", line_columns, line, lines);
    if (!lines || only_fields) return;
    const struct mpr_family_line *chosen[KINDS];
    uint8_t heap = MPF_HEAP_NONE;
    const bool tree = line->processes == 1 && lines > 1 && line[1].depth,
               alone = processes_of(line, lines) == 1; /* it needs no heading */
    mpr_doc_gap(doc);
    if (tree)
        mpr_doc_line(
            doc, "%s and its %s:", line_words(doc, line, NULL, &heap),
            mpr_doc_counted(doc, processes_of(line + 1, lines - 1), "process", "processes"));
    else if (!alone)
        mpr_doc_line(
            doc, "%s:", mpr_doc_counted(doc, processes_of(line, lines), "process", "processes"));
    const size_t count = choose(doc, line + tree, lines - tree, chosen);
    uint64_t left = processes_of(line + tree, lines - tree);
    for (size_t i = 0; i < count; i++) {
        mpr_doc_add_plain(doc, "%s%s",
                          i       ? "; "
                          : alone ? ""
                                  : "  ",
                          line_words(doc, chosen[i], tree ? line : NULL, &heap));
        left -= chosen[i]->processes;
    }
    if (left) mpr_doc_add_plain(doc, "; %s more", mpr_doc_count(doc, left));
    mpr_doc_end_wrapped(doc, 2);
    mpr_report_without_log(doc, &run->without_log);
}
