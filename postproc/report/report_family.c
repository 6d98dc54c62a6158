/* The processes of a run in two lines: the process that started it, the reported process, and the
 * largest or a dead one. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "basename.h"
#include "family.h"
#include "reports.h"
#include "utf8.h"

enum { KINDS = 2, WORD = 24 };

/* ---- titles of processes */

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0) return true;
    return false;
}

/* Returns the index of the argument that names the program to run: after -m, -c or -jar, else the
 * first one that is not an option.  After an option that may be its value, as "x86_64-linux-gnu",
 * so the first file is preferred: "train.py", "./worker".  Returns argc if it is missing. *named:
 * it follows -m, -c or -jar. */
static size_t telling_argument(const struct mpr_process_info *p, bool *named)
{
    static const char *const names[] = { "-m", "-c", "-jar" }, *const takes[] = { "-W", "-X" };
    size_t first = 1;
    *named = false;
    for (; first < p->argc; first++) {
        const char *word = p->argv[first];
        *named = is_one_of(word, names, 3);
        if (*named && first + 1 < p->argc) return first + 1;
        if (is_one_of(word, takes, 2)) first++;
        else if (*word != '-') break;
    }
    *named = false;
    for (size_t i = first; first > 1 && i < p->argc; i++) {
        const char *word = p->argv[i];
        if (*word != '-' && (*word < '0' || *word > '9') && strpbrk(word, "./")) return i;
    }
    return first < p->argc ? first : p->argc;
}

const char *mpr_report_program(struct mpr_document *doc, const struct mpr_process_info *p)
{
    bool named;
    if (!p->argc) return "unknown program";
    const size_t what = telling_argument(p, &named);
    const char *program = mpr_utf8_shortened(&doc->arena, mpr_basename(p->argv[0]), WORD);
    if (what >= p->argc) return program;
    const bool code = named && strcmp(p->argv[what - 1], "-c") == 0;
    const char *text = code ? p->argv[what] : mpr_basename(p->argv[what]);
    return mpr_arena_format(&doc->arena, "%s %s%s%s", program, named ? p->argv[what - 1] : "",
                            named ? " " : "", mpr_utf8_shortened(&doc->arena, text, WORD));
}

/* ---- ends and peaks */

/* Returns how the process ended; "" if it runs or ended normally.  A process that another one of
 * the run started may be ended by SIGTERM, like the workers of a pool or a DataLoader. */
static const char *death(struct mpr_document *doc, const struct mpr_process *p)
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
static const char *held(struct mpr_document *doc, const struct mpr_process *p, uint8_t *heap)
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
static const char *words(struct mpr_document *doc, const struct mpr_family_line *l,
                         const struct mpr_family_line *root, uint8_t *heap)
{
    const struct mpr_process_info *p = &l->last->summary.process;
    const bool forked = root && strcmp(l->last->title, root->last->title) == 0;
    const char *title = forked ? "forked" : mpr_report_program(doc, p),
               *size = held(doc, l->largest, heap), *died = death(doc, l->last),
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

/* Chooses the reported one, the first that died, and the first that did not, of lines that are
 * sorted by size. */
static size_t choose(struct mpr_document *doc, const struct mpr_family_line *line, size_t lines,
                     const struct mpr_family_line *chosen[KINDS])
{
    size_t count = 0;
    for (size_t i = 0; i < lines && count < KINDS; i++)
        if (line[i].apart) chosen[count++] = &line[i];
    for (int dead = 1; dead >= 0; dead--)
        for (size_t i = 0; i < lines && count < KINDS; i++)
            if (!line[i].apart && (*death(doc, line[i].last) != 0) == dead) {
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

#define OF(member) MPR_FIELD(mpr_family_line, member)

MPR_VALUE(peak, mpr_family_line, l, mpr_value_number(MPR_BYTES, l->largest->peak_bytes))

static const struct mpr_column columns[] = {
    { .key = "title", .type = MPR_TEXT, OF(title) },
    { .key = "processes", .type = MPR_COUNT, OF(processes) },
    { .key = "depth", .type = MPR_COUNT, OF(depth) },
    { .key = "largest_peak_bytes", .type = MPR_BYTES, .get = peak },
    { .key = "reported", .type = MPR_FLAG, OF(apart) },
};

void mpr_report_family(struct mpr_document *doc, const struct mpr_processes *all,
                       const char *reported, bool only_fields)
{
    size_t lines;
    const struct mpr_process_run *run = mpr_processes_run_of(all, reported);
    if (!run) return;
    const struct mpr_processes of = mpr_processes_of_run(all, &doc->arena, run);
    const struct mpr_family_line *line = mpr_family(&doc->arena, &of, false, reported, &lines);
    mpr_doc_objects(doc, "processes", columns, line, lines);
    if (!lines || only_fields) return;
    const struct mpr_family_line *chosen[KINDS];
    uint8_t heap = MPF_HEAP_NONE;
    const bool tree = line->processes == 1 && lines > 1 && line[1].depth,
               alone = processes_of(line, lines) == 1; /* it needs no heading */
    mpr_doc_gap(doc);
    if (tree)
        mpr_doc_line(
            doc, "%s and its %s:", words(doc, line, NULL, &heap),
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
                          words(doc, chosen[i], tree ? line : NULL, &heap));
        left -= chosen[i]->processes;
    }
    if (left) mpr_doc_add_plain(doc, "; %s more", mpr_doc_count(doc, left));
    mpr_doc_end_wrapped(doc, 2);
    mpr_report_without_log(doc, &run->rest);
}
