/* The processes of a run in two lines: who began it, the one that is reported, and its largest or
 * its dead. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "basename.h"
#include "family.h"
#include "reports.h"
#include "utf8.h"

enum { KINDS = 2, WORD = 24 };

/* ---- words */

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0) return true;
    return false;
}

/* "train.py", "./worker": not the value of an option before it, as "x86_64-linux-gnu" may be. */
static bool is_file(const char *word)
{
    return *word != '-' && (*word < '0' || *word > '9') && strpbrk(word, "./");
}

/* The first argument that is no option; one behind an option may be its value, so a file is before
 * it. */
static size_t plain_argument(const struct mpr_process_info *who, size_t first)
{
    if (first == 1) return first;
    for (size_t i = first; i < who->argc; i++)
        if (is_file(who->argv[i])) return i;
    return first;
}

/* Which argument says what is run; argc: none. */
static size_t telling_argument(const struct mpr_process_info *who, bool *named)
{
    static const char *const names[] = { "-m", "-c", "-jar" }, *const takes[] = { "-W", "-X" };
    *named = false;
    for (size_t i = 1; i < who->argc; i++) {
        *named = is_one_of(who->argv[i], names, 3);
        if (*named && i + 1 < who->argc) return i + 1;
        if (is_one_of(who->argv[i], takes, 2)) i++;
        else if (*who->argv[i] != '-') return plain_argument(who, i);
    }
    *named = false;
    return who->argc;
}

/* "python3 train.py", "python3 -m trainer": the program and what it runs. */
static const char *title_of(struct mpr_document *doc, const struct mpr_process_info *who)
{
    bool named;
    if (!who->argc) return "unknown program";
    const size_t what = telling_argument(who, &named);
    const char *program = mpr_utf8_shortened(&doc->arena, mpr_basename(who->argv[0]), WORD);
    if (what >= who->argc) return program;
    const bool code = named && strcmp(who->argv[what - 1], "-c") == 0;
    const char *text = code ? who->argv[what] : mpr_basename(who->argv[what]);
    return mpr_arena_format(&doc->arena, "%s %s%s%s", program, named ? who->argv[what - 1] : "",
                            named ? " " : "", mpr_utf8_shortened(&doc->arena, text, WORD));
}

static const char *processes(struct mpr_document *doc, uint64_t count)
{
    return mpr_arena_format(&doc->arena, "%s process%s", mpr_doc_count(doc, count),
                            count == 1 ? "" : "es");
}

/* A process that another one of the run began is told to go by it: so the workers of a pool, and of
 * a DataLoader, end. */
static bool is_told_to_go(const struct mpr_process *p)
{
    return p->parent != MPR_NO_PROCESS && p->summary.fate == MPR_FATE_SIGNAL &&
           p->summary.fate_status == SIGTERM && p->summary.oom == MPR_FATE_NO_OOM;
}

/* Returns how the process ended; "" if it runs or ended as a process should. */
static const char *death(struct mpr_document *doc, const struct mpr_process *p)
{
    const struct mpr_summary *s = &p->summary;
    const bool own = s->fate == MPR_FATE_OWN, oom = s->oom != MPR_FATE_NO_OOM,
               fine = own ? s->end == MPF_END_EXIT || s->end == MPF_END_EXIT_NOW
                          : s->fate == MPR_FATE_EXIT;
    if (s->life == MPR_RUNS || is_told_to_go(p) || (!oom && fine && !s->fate_status)) return "";
    if (!oom && (s->fate == MPR_FATE_UNKNOWN || (own && !s->end))) return "end not told";
    return mpr_report_ending(&doc->arena, s);
}

/* " 404.00 MiB of host/heap", " 404.00 MiB" of the heap that was told last; "": nothing was
 * recorded.
 */
static const char *held(struct mpr_document *doc, const struct mpr_process *p, uint8_t *heap)
{
    size_t i = 0;
    while (i < p->heaps && p->heap[i].peak_bytes < p->peak_bytes) i++;
    if (i == p->heaps) return "";
    const char *size = mpr_arena_format(&doc->arena, "%s%s", p->heap[i].is_about ? "~" : "",
                                        mpr_doc_size(doc, p->peak_bytes));
    if (*heap == p->heap[i].heap) return mpr_arena_format(&doc->arena, " %s", size);
    *heap = p->heap[i].heap;
    return mpr_arena_format(&doc->arena, " %s of %s", size, mpr_heap_name(*heap));
}

/* "3 x worker {1..3} up to 404.00 MiB of host/heap", "python3 train.py (pid 7) 401.37 MiB of
 * host/heap, OOM-killed"; root: what runs the same is its fork.  NULL: there is none. */
static const char *words(struct mpr_document *doc, const struct mpr_family_line *l,
                         const struct mpr_family_line *root, uint8_t *heap)
{
    const struct mpr_process_info *who = &l->last->summary.process;
    const bool forked = root && strcmp(l->last->title, root->last->title) == 0;
    const char *title = forked ? "forked" : title_of(doc, who), *size = held(doc, l->largest, heap),
               *died = death(doc, l->last), *comma = *died ? ", " : "";
    if (l->processes == 1)
        return mpr_arena_format(&doc->arena, "%s (%s%s%spid %" PRIu64 ")%s%s%s", title,
                                *who->rank ? "rank " : "", who->rank, *who->rank ? ", " : "",
                                who->pid, size, comma, died);
    if (!forked && strcmp(l->title, l->last->title) != 0)
        title = mpr_utf8_shortened(&doc->arena, l->title, 2 * WORD);
    return mpr_arena_format(&doc->arena, "%s x %s%s%s%s%s", mpr_doc_count(doc, l->processes), title,
                            *size ? " up to" : "", size, comma, died);
}

/* ---- which of them */

static bool died(struct mpr_document *doc, const struct mpr_family_line *l)
{
    return *death(doc, l->last) != 0;
}

/* The one that is reported, the first that died, and the first that did not: they come largest
 * first. */
static size_t choose(struct mpr_document *doc, const struct mpr_family_line *line, size_t lines,
                     const struct mpr_family_line *chosen[KINDS])
{
    size_t count = 0;
    for (size_t i = 0; i < lines && count < KINDS; i++)
        if (line[i].apart) chosen[count++] = &line[i];
    for (int dead = 1; dead >= 0; dead--)
        for (size_t i = 0; i < lines && count < KINDS; i++)
            if (!line[i].apart && died(doc, &line[i]) == dead) {
                chosen[count++] = &line[i];
                break;
            }
    return count;
}

/* The processes of these lines. */
static uint64_t sum_of(const struct mpr_family_line *line, size_t lines)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < lines; i++) sum += line[i].processes;
    return sum;
}

/* lead: before the first. */
static void kinds(struct mpr_document *doc, const char *lead, const struct mpr_family_line *line,
                  size_t lines, const struct mpr_family_line *root, uint8_t *heap)
{
    const struct mpr_family_line *chosen[KINDS];
    const size_t count = choose(doc, line, lines, chosen);
    uint64_t left = sum_of(line, lines);
    for (size_t i = 0; i < count; i++) {
        mpr_doc_say(doc, "%s%s", i ? "; " : lead, words(doc, chosen[i], root, heap));
        left -= chosen[i]->processes;
    }
    if (left) mpr_doc_say(doc, "; %s more", mpr_doc_count(doc, left));
    mpr_doc_end_wrapped(doc, 2);
}

/* ---- all */

#define OF(member) MPR_FIELD(mpr_family_line, member)

static struct mpr_value peak(const void *row, const void *context)
{
    (void)context;
    return mpr_value_number(MPR_BYTES, ((const struct mpr_family_line *)row)->largest->peak_bytes);
}

static const struct mpr_column columns[] = {
    { .key = "title", .type = MPR_TEXT, OF(title) },
    { .key = "processes", .type = MPR_COUNT, OF(processes) },
    { .key = "depth", .type = MPR_COUNT, OF(depth) },
    { .key = "largest_peak_bytes", .type = MPR_BYTES, .get = peak },
    { .key = "reported", .type = MPR_FLAG, OF(apart) },
};

void mpr_report_family(struct mpr_document *doc, const struct mpr_processes *all,
                       const char *reported)
{
    size_t lines;
    const struct mpr_process_run *run = mpr_processes_run_of(all, reported);
    if (!run) return;
    const struct mpr_processes of = mpr_processes_of_run(all, &doc->arena, run);
    const struct mpr_family_line *line = mpr_family(&doc->arena, &of, false, reported, &lines);
    mpr_doc_table(doc, &(struct mpr_table){ .key = "processes",
                                            .only = MPR_IN_JSON,
                                            .all = MPR_IN_JSON,
                                            MPR_COLUMNS(columns),
                                            MPR_ROWS(line, lines) });
    if (!lines) return;
    uint8_t heap = MPF_HEAP_NONE;
    const bool tree = line->processes == 1 && lines > 1 && line[1].depth,
               alone = sum_of(line, lines) == 1; /* it needs no heading */
    mpr_doc_gap(doc);
    if (tree)
        mpr_doc_line(doc, "%s and its %s:", words(doc, line, NULL, &heap),
                     processes(doc, sum_of(line + 1, lines - 1)));
    else if (!alone) mpr_doc_line(doc, "%s:", processes(doc, sum_of(line, lines)));
    kinds(doc, alone ? "" : "  ", line + tree, lines - tree, tree ? line : NULL, &heap);
    mpr_report_rest(doc, &run->rest);
}
