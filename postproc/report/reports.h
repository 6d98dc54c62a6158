/* One function for each report: it describes the result of an analysis as a document.  The result
 * must outlive the document. */
#ifndef MPR_REPORTS_H
#define MPR_REPORTS_H

#include "document.h"
#include "instant.h"

struct mpr_breakdown;
struct mpr_breakdown_heap;
struct mpr_calltree;
struct mpr_choice;
struct mpr_check;
struct mpr_check_row;
struct mpr_without_log;
struct mpr_change;
struct mpr_diff;
struct mpr_finding;
struct mpr_finding_text;
struct mpr_graphs;
struct mpr_heap_peak;
struct mpr_info;
struct mpr_leaks;
struct mpr_device_state;
struct mpr_insights;
struct mpr_insights_oom;
struct mpr_refused_request;
struct mpr_log_peaks;
struct mpr_occupancy;
struct mpr_ooms;
struct mpr_peaks;
struct mpr_process_info;
struct mpr_processes;
struct mpr_ranks;
struct mpr_recording;
struct mpr_segments;
struct mpr_steps;
struct mpr_summary;
struct mpr_temporary;
struct mpr_timeline;
struct mpr_top;
struct mpr_verdict;
struct mpr_what_if;

void mpr_report_check(struct mpr_document *doc, const struct mpr_check *check);
void mpr_report_diff(struct mpr_document *doc, const struct mpr_diff *diff,
                     const struct mpr_verdict *verdict);
void mpr_report_breakdown(struct mpr_document *doc, const struct mpr_breakdown *breakdown);
void mpr_report_graphs(struct mpr_document *doc, const struct mpr_graphs *graphs);
void mpr_report_info(struct mpr_document *doc, const struct mpr_info *info);
void mpr_report_leaks(struct mpr_document *doc, const struct mpr_leaks *leaks);
void mpr_report_insights(struct mpr_document *doc, const struct mpr_insights *insights);
void mpr_report_ooms(struct mpr_document *doc, const struct mpr_ooms *ooms);
/* The tables of the HTML page. */
void mpr_report_page(struct mpr_document *doc, const struct mpr_timeline *timeline);
/* For people: what was not recorded, and the command that records it. @insights: NULL if they were
 * not read. */
void mpr_report_page_notes(struct mpr_document *doc, const struct mpr_timeline *timeline,
                           const struct mpr_insights *insights);
void mpr_report_peaks(struct mpr_document *doc, const struct mpr_peaks *peaks);
void mpr_report_processes(struct mpr_document *doc, const struct mpr_processes *processes);
void mpr_report_ranks(struct mpr_document *doc, const struct mpr_ranks *ranks);
void mpr_report_segments(struct mpr_document *doc, const struct mpr_segments *segments);
/* The same report on the pages of host/heap. */
void mpr_report_occupancy(struct mpr_document *doc, const struct mpr_occupancy *occupancy);
void mpr_report_steps(struct mpr_document *doc, const struct mpr_steps *steps);
/* A tree of call stacks for programs; people see mpr_stacks_text. */
void mpr_report_tree(struct mpr_document *doc, const struct mpr_calltree *tree);
/* Returns for each call whether it is one of the `top` largest (0: all are shown).  A call above a
 * shown one is also shown because it is at least as large.  The caller frees the array. */
bool *mpr_report_tree_shown(const struct mpr_calltree *tree, size_t top);
/* Returns true if a call has the same bytes as the call above it, so that it does not show them. */
bool mpr_report_tree_continues(const struct mpr_calltree *tree, size_t call);
/* @ranks: the job of the log, with which the summary begins, or NULL */
void mpr_report_summary(struct mpr_document *doc, const struct mpr_insights *insights,
                        const struct mpr_ranks *ranks);
void mpr_report_temporary(struct mpr_document *doc, const struct mpr_temporary *temporary);
void mpr_report_top(struct mpr_document *doc, const struct mpr_top *top);
void mpr_report_what_if(struct mpr_document *doc, const struct mpr_what_if *result);
void mpr_report_verify(struct mpr_document *doc, const struct mpr_summary *log, size_t logs);

/* ---- parts of one report that others also show.  Returned texts are in the document's memory. */

/* The processes of a run that left no log. */
void mpr_report_without_log(struct mpr_document *doc, const struct mpr_without_log *rest);
/* "range step * of host/heap"; for an exceeded limit also by how much and where. */
const char *mpr_report_limit(struct mpr_document *doc, const struct mpr_check_row *row);
const char *mpr_report_broken(struct mpr_document *doc, const struct mpr_check_row *row);
/* All findings in JSON; the first `most` for people. */
void mpr_report_finding_fields(struct mpr_document *doc, const struct mpr_insights *insights);
void mpr_report_findings(struct mpr_document *doc, const struct mpr_insights *insights,
                         size_t most);
/* Returns the owner of a heap: "gpu0", "host". */
const char *mpr_report_where(struct mpr_arena *arena, uint8_t heap);
/* The sentences of a finding, in the arena (report_findings.c). */
struct mpr_finding_text mpr_finding_text(struct mpr_arena *arena,
                                         const struct mpr_finding *finding);
/* A finding's sentence with its path, and the command that shows more about it. */
const char *mpr_report_finding_words(struct mpr_document *doc, const struct mpr_finding *finding);
const char *mpr_report_finding_command(struct mpr_document *doc,
                                       const struct mpr_insights *insights,
                                       const struct mpr_finding *finding);
/* The verdict on two sides: a sentence and the largest changes for people, fields for programs. */
void mpr_report_verdict(struct mpr_document *doc, const struct mpr_diff *diff,
                        const struct mpr_verdict *verdict);
/* "same", "noise" or "changed". */
const char *mpr_report_outcome_words(const struct mpr_verdict *verdict);
/* Its sentence; the sentence of a change with its owner, and what to compare. */
const char *mpr_report_verdict_words(struct mpr_document *doc, const struct mpr_diff *diff,
                                     const struct mpr_verdict *verdict);
const char *mpr_report_change_words(struct mpr_document *doc, const struct mpr_change *change);
const char *mpr_report_change_advice(const struct mpr_change *change);
/* The card of the page: what happened to the process of the log, as fields.
 * @ooms: the out-of-memory events of its log, and maybe of others. */
struct mpr_ooms;
void mpr_report_card(struct mpr_document *doc, const struct mpr_insights *insights,
                     const struct mpr_ooms *ooms);
/* The lines about the job of the process, as fields. */
void mpr_report_job_lines(struct mpr_document *doc, const struct mpr_ranks *ranks,
                          const struct mpr_insights *insights);
/* The program and what it runs, in a few words: "python3 train.py", "python3 -m trainer". */
const char *mpr_report_program(struct mpr_document *doc, const struct mpr_process_info *process);
/* Its whole command line, quoted for a shell: "/usr/bin/python3 train.py --seed 3". */
const char *mpr_report_shell_command(struct mpr_arena *arena, const struct mpr_process_info *p);
/* The program with its arguments, cut after some 60 columns: "python3 train.py --batch 8". */
const char *mpr_report_command(struct mpr_document *doc, const struct mpr_process_info *process);
/* The processes of a run, for people in two lines.  @reported: the log of the rest of the report.
 * @only_fields: nothing for people. */
void mpr_report_family(struct mpr_document *doc, const struct mpr_processes *all,
                       const char *reported, bool only_fields);
/* A job in a few lines: failures, differences, what all ranks have in common, and the rank that the
 * rest of the report is about. */
void mpr_report_job(struct mpr_document *doc, const struct mpr_ranks *ranks,
                    const struct mpr_insights *insights);
/* Returns the folder of a log, which commands on all logs in it take. */
const char *mpr_report_folder(struct mpr_document *doc, const char *path);
/* The pass of training in which the heap's instant is: "in backward, 2 of 4 steps done". */
const char *mpr_report_pass(struct mpr_document *doc, const struct mpr_breakdown *breakdown,
                            const struct mpr_breakdown_heap *heap);

/* ---- heaps of a log (report_heaps.c) */

/* The peak of a struct mpr_heap_peak, for people with "~" if it is approximate. */
struct mpr_value mpr_report_heap_peak(const void *row, const void *context);
/* Adds a heap's numbers to the open object of JSON. */
void mpr_report_heap_fields(struct mpr_document *doc, const struct mpr_heap_peak *heap);
/* For people: a table of the heaps at the instant, and lines about them.
 * @tick: resolution of times, ns. */
void mpr_report_heap_table(struct mpr_document *doc, const struct mpr_log_peaks *log,
                           struct mpr_instant at, uint64_t tick);

/* For people: the instances of repeated ranges in which the peaks are, in one line for all heaps of
 * one instance.  @at_peak: false if another instant replaces the peaks. */
void mpr_report_instances(struct mpr_document *doc, const struct mpr_log_peaks *log, bool at_peak);
/* For people: bytes of the heap that were never all in memory; nothing if they may have been. */
void mpr_report_reserved(struct mpr_document *doc, const struct mpr_heap_peak *heap);
/* For people: heaps whose bytes other heaps also count. */
void mpr_report_nested(struct mpr_document *doc, const struct mpr_log_peaks *log);

/* ---- hints for the next recording, so that more bytes have a name (report_hint.c) */

/* Adds lines for people: the bytes of a heap's peak without a name, if they are many, the reason,
 * and the command or option that names them.  @noted: the report itself prints the log's notes. */
void mpr_report_hint(struct mpr_document *doc, const struct mpr_log_peaks *log, bool noted);
/* The same for a report that prints no notes.  It may know the run of the log. */
void mpr_report_hint_alone(struct mpr_document *doc, const struct mpr_insights *insights);
/* Adds a line for people about blocks that are counted one by one: how many have a name and why not
 * more, if at least a tenth has none.  Returns true if it did: a recording with all call stacks
 * would name them. */
bool mpr_report_hint_counts(struct mpr_document *doc, const struct mpr_log_peaks *log, uint8_t heap,
                            uint64_t named, uint64_t all);
/* Adds the bytes of pymalloc's arenas to a line for people about a heap that is estimated inside
 * another one, if the estimate is larger. */
void mpr_report_arena_limit(struct mpr_document *doc, const struct mpr_log_peaks *log,
                            const struct mpr_heap_peak *heap);
/* Adds a line for people: the recorder with its options, and the program of the log. */
void mpr_report_run(struct mpr_document *doc, const struct mpr_summary *summary,
                    const char *recorder);

/* ---- the log of a report */

/* Adds the first field of JSON.  It names the set of fields, a contract that memprof-report(1)
 * lists. */
void mpr_report_schema(struct mpr_document *doc, const char *schema);
/* Adds the fields of the log; for people its title, state and losses; both.  Later columns of the
 * log (MPR_OF_LOG) are about this one. */
void mpr_report_log_fields(struct mpr_document *doc, const struct mpr_summary *s);
void mpr_report_log_lines(struct mpr_document *doc, const struct mpr_summary *s);
void mpr_report_log(struct mpr_document *doc, const struct mpr_summary *s);
void mpr_report_losses(struct mpr_document *doc, const struct mpr_summary *s);
/* Adds a line with the process's command, rank, host and pid; the same in a few words. */
void mpr_report_title(struct mpr_document *doc, const struct mpr_summary *s);
const char *mpr_report_label(struct mpr_document *doc, const struct mpr_summary *s);
/* An instant of CLOCK_REALTIME in UTC, with milliseconds; "" for 0. */
const char *mpr_report_utc(struct mpr_document *doc, uint64_t ns);
/* How the process ended, in a word or two, in the arena: "exit", "OOM-killed". */
const char *mpr_report_ending(struct mpr_arena *arena, const struct mpr_summary *s);
/* The same in full, if its log does not say it, else "": "OOM-killed by the kernel", "SIGTERM",
 * "exit status 1", "killed, or ended by exit_group". */
const char *mpr_report_fate(struct mpr_arena *arena, const struct mpr_summary *s);
/* For people: which blocks of malloc were recorded, if not all were. */
void mpr_report_recording(struct mpr_document *doc, const struct mpr_recording *r);
/* Returns true if blocks of the heap that were freed are only counted (thinning.md). */
bool mpr_report_is_thinned(const struct mpr_summary *s, uint8_t heap);

/* Returns the instant that a report on @at shows: the end of the log if @at is later. */
struct mpr_instant mpr_report_shown_instant(const struct mpr_summary *s, struct mpr_instant at);
/* Warns if @at is later than the end of the log: in a line for people, in a field of the open
 * object of JSON, or both. */
void mpr_report_too_late(struct mpr_document *doc, const struct mpr_summary *s,
                         struct mpr_instant at);
void mpr_report_too_late_line(struct mpr_document *doc, const struct mpr_summary *s,
                              struct mpr_instant at);
void mpr_report_too_late_field(struct mpr_document *doc, const struct mpr_summary *s,
                               struct mpr_instant at);

/* For people: the grouping that replaced "auto", "ranges: NVTX", unless the user chose it. */
void mpr_report_choice(struct mpr_document *doc, const struct mpr_choice *choice);
/* Adds to a line about a heap that its bytes are part of the heap @inside, unless that is
 * MPF_HEAP_NONE. */
void mpr_report_inside(struct mpr_document *doc, uint8_t inside);
/* For people: notes about failed look-ups of names. */
void mpr_report_notes(struct mpr_document *doc, const char *const *note, size_t notes);

/* ---- parts of the report on ranks; private to this layer */

/* Which processes are compared, which are missing, incomplete or have failed.  @brief: for a
 * summary, without notes on clocks and on blocks that were not recorded. */
void mpr_report_ranks_processes(struct mpr_document *doc, const struct mpr_ranks *ranks,
                                bool brief);
/* Ranks whose peaks are outliers, and the causes.  @brief: in fewer lines. */
void mpr_report_ranks_outliers(struct mpr_document *doc, const struct mpr_ranks *ranks, bool brief);
/* Stages whose peaks differ, and the causes. */
void mpr_report_ranks_stages(struct mpr_document *doc, const struct mpr_ranks *ranks);

/* ---- parts of the summary that the card of the page also has; private to this layer */

/* The owners of a heap at an instant. */
struct mpr_owners {
    uint8_t of;        /* MPF_HEAP_NONE if nothing was recorded */
    const char *bytes; /* title of the bytes: "at the peak" */
    const struct mpr_row *row;
    size_t rows;
    uint64_t whole;
    const struct mpr_device_state *asleep; /* has more blocks of PyTorch, without memory; or NULL */
};

/* Returns the owners on the device that ran out of memory, or else of the largest heap that is not
 * part of another one.  PyTorch's blocks are preferred to the segments that contain them; if some
 * are asleep, only those that had memory when the device was fullest. */
struct mpr_owners mpr_report_summary_owners(const struct mpr_insights *insights);

/* Adds the line about device memory that ran out. */
void mpr_report_ran_out(struct mpr_document *doc, const struct mpr_insights_oom *oom);
/* Adds the line about the newest refusal of host memory, and their number. */
void mpr_report_refused(struct mpr_document *doc, const struct mpr_refused_request *refused);
/* Adds the lines with commands that show more.  @ranks: the job, or NULL. */
void mpr_report_next(struct mpr_document *doc, const struct mpr_insights *insights,
                     const struct mpr_ranks *ranks);

#endif
