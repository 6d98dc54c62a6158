/* One function for each report: it describes the result of an analysis as a document. The result
 * must live longer than the document. */
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
/* For people: what was not recorded, and the command that records it. @insights: or NULL. */
void mpr_report_page_notes(struct mpr_document *doc, const struct mpr_timeline *timeline,
                           const struct mpr_insights *insights);
void mpr_report_peaks(struct mpr_document *doc, const struct mpr_peaks *peaks);
void mpr_report_processes(struct mpr_document *doc, const struct mpr_processes *processes);
void mpr_report_ranks(struct mpr_document *doc, const struct mpr_ranks *ranks);
void mpr_report_segments(struct mpr_document *doc, const struct mpr_segments *segments);
/* The same report on the pages of host/heap. */
void mpr_report_occupancy(struct mpr_document *doc, const struct mpr_occupancy *occupancy);
void mpr_report_steps(struct mpr_document *doc, const struct mpr_steps *steps);
/* A tree of call stacks for programs; people see that of mpr_stacks_text. */
void mpr_report_tree(struct mpr_document *doc, const struct mpr_calltree *tree);
/* Returns for each call whether it is one of the @top largest (0: all). If a call is shown, so
 * are its callers, because they are at least as large. The caller of this function frees the
 * array. */
bool *mpr_report_tree_shown(const struct mpr_calltree *tree, size_t top);
/* Returns true if a call has the same bytes as its caller, so that they are not shown again. */
bool mpr_report_tree_continues(const struct mpr_calltree *tree, size_t call);
/* @ranks: the job of the log, with which the summary starts, or NULL. */
void mpr_report_summary(struct mpr_document *doc, const struct mpr_insights *insights,
                        const struct mpr_ranks *ranks);
void mpr_report_temporary(struct mpr_document *doc, const struct mpr_temporary *temporary);
void mpr_report_top(struct mpr_document *doc, const struct mpr_top *top);
void mpr_report_what_if(struct mpr_document *doc, const struct mpr_what_if *result);
void mpr_report_verify(struct mpr_document *doc, const struct mpr_summary *log, size_t logs);

/* ---- parts of a report that others also show; texts are in the document's memory */

/* Adds the line about the processes of a run that left no log. */
void mpr_report_without_log(struct mpr_document *doc, const struct mpr_without_log *rest);
/* Return "range step * of host/heap"; and for an exceeded limit also by how much, and where. */
const char *mpr_report_limit(struct mpr_document *doc, const struct mpr_check_row *row);
const char *mpr_report_broken(struct mpr_document *doc, const struct mpr_check_row *row);
/* Adds all findings to JSON; the first @most for people. */
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
/* Adds the verdict on two sides: for people a sentence and the largest changes, for programs
 * fields. */
void mpr_report_verdict(struct mpr_document *doc, const struct mpr_diff *diff,
                        const struct mpr_verdict *verdict);
/* "same", "noise" or "changed". */
const char *mpr_report_outcome_words(const struct mpr_verdict *verdict);
/* Return the sentence of the verdict; that of a change with its owner; and what to compare. */
const char *mpr_report_verdict_words(struct mpr_document *doc, const struct mpr_diff *diff,
                                     const struct mpr_verdict *verdict);
const char *mpr_report_change_words(struct mpr_document *doc, const struct mpr_change *change);
const char *mpr_report_change_advice(const struct mpr_change *change);
/* Adds the card of the page, as fields: what happened to the process of the log. @ooms: the
 * out-of-memory events of its log, and maybe of other logs. */
struct mpr_ooms;
void mpr_report_card(struct mpr_document *doc, const struct mpr_insights *insights,
                     const struct mpr_ooms *ooms);
/* Adds the lines about the job of the process, as fields. */
void mpr_report_job_lines(struct mpr_document *doc, const struct mpr_ranks *ranks,
                          const struct mpr_insights *insights);
/* Returns the program and what it runs: "python3 train.py", "python3 -m trainer". */
const char *mpr_report_program(struct mpr_document *doc, const struct mpr_process_info *process);
/* Returns the whole command line, quoted for a shell: "/usr/bin/python3 train.py --seed 3". */
const char *mpr_report_shell_command(struct mpr_arena *arena, const struct mpr_process_info *p);
/* Returns the program with its arguments, at most about 60 columns: "python3 train.py --batch
 * 8". */
const char *mpr_report_command(struct mpr_document *doc, const struct mpr_process_info *process);
/* Adds the processes of a run, for people in two lines. @reported: the log of which the rest of
 * the report is. @only_fields: nothing for people. */
void mpr_report_family(struct mpr_document *doc, const struct mpr_processes *all,
                       const char *reported, bool only_fields);
/* Adds a job in a few lines: failures, differences, what all ranks have in common, and the rank
 * of which the rest of the report is. */
void mpr_report_job(struct mpr_document *doc, const struct mpr_ranks *ranks,
                    const struct mpr_insights *insights);
/* Returns the folder of a log, as an argument of commands. */
const char *mpr_report_folder(struct mpr_document *doc, const char *path);
/* Returns the pass of training at the heap's instant: "in backward, 2 of 4 steps done". */
const char *mpr_report_pass(struct mpr_document *doc, const struct mpr_breakdown *breakdown,
                            const struct mpr_breakdown_heap *heap);

/* ---- heaps of a log (report_heaps.c) */

/* Returns the peak of a struct mpr_heap_peak, for people with "~" if it is approximate. */
struct mpr_value mpr_report_heap_peak(const void *row, const void *context);
/* Adds a heap's numbers to the open object of JSON. */
void mpr_report_heap_fields(struct mpr_document *doc, const struct mpr_heap_peak *heap);
/* For people: a table of the heaps at the instant, and lines about them.
 * @tick: resolution of times, ns. */
void mpr_report_heap_table(struct mpr_document *doc, const struct mpr_log_peaks *log,
                           struct mpr_instant at, uint64_t tick);

/* For people: the instances of repeated ranges in which the peaks are. Heaps with the same
 * instance share a line. @at_peak: false if the report is about another instant than the peak. */
void mpr_report_instances(struct mpr_document *doc, const struct mpr_log_peaks *log, bool at_peak);
/* For people: how many bytes of the heap were never in memory, if that is known. */
void mpr_report_reserved(struct mpr_document *doc, const struct mpr_heap_peak *heap);
/* For people: the heaps whose bytes are also part of other heaps. */
void mpr_report_nested(struct mpr_document *doc, const struct mpr_log_peaks *log);

/* ---- hints what to record the next time, so that more bytes have a name (report_hint.c) */

/* For people: the bytes of a heap's peak without a name, if they are many, the reason, and the
 * command or option that names them. @noted: the report also prints the log's notes. */
void mpr_report_hint(struct mpr_document *doc, const struct mpr_log_peaks *log, bool noted);
/* The same for a report without notes. */
void mpr_report_hint_alone(struct mpr_document *doc, const struct mpr_insights *insights);
/* For people: how many of the blocks have a name, and why not more, if at least a tenth has
 * none. Returns true if a recording with all call stacks would name the others. */
bool mpr_report_hint_counts(struct mpr_document *doc, const struct mpr_log_peaks *log, uint8_t heap,
                            uint64_t named, uint64_t all);
/* Adds the bytes of pymalloc's arenas to a line about a heap inside them, if its estimate is
 * larger. */
void mpr_report_arena_limit(struct mpr_document *doc, const struct mpr_log_peaks *log,
                            const struct mpr_heap_peak *heap);
/* For people: the recorder with its options, and the program of the log. */
void mpr_report_run(struct mpr_document *doc, const struct mpr_summary *summary,
                    const char *recorder);

/* ---- the log of a report */

/* Adds the first field of JSON: the name of the set of fields, as memprof-report(1) lists them. */
void mpr_report_schema(struct mpr_document *doc, const char *schema);
/* Add the fields of the log; for people its title, state and losses; or both. Columns of the log
 * (MPR_OF_LOG) in later tables are of this log. */
void mpr_report_log_fields(struct mpr_document *doc, const struct mpr_summary *s);
void mpr_report_log_lines(struct mpr_document *doc, const struct mpr_summary *s);
void mpr_report_log(struct mpr_document *doc, const struct mpr_summary *s);
void mpr_report_losses(struct mpr_document *doc, const struct mpr_summary *s);
/* Adds a line with the process's command, rank, host and pid; returns the same as a short text. */
void mpr_report_title(struct mpr_document *doc, const struct mpr_summary *s);
const char *mpr_report_label(struct mpr_document *doc, const struct mpr_summary *s);
/* Returns an instant of CLOCK_REALTIME in UTC with milliseconds, or "" for 0. */
const char *mpr_report_utc(struct mpr_document *doc, uint64_t ns);
/* Returns how the process ended, in a word or two, in the arena: "exit", "OOM-killed". */
const char *mpr_report_ending(struct mpr_arena *arena, const struct mpr_summary *s);
/* Returns the same in full if the log itself does not say it, otherwise "": "OOM-killed by the
 * kernel", "SIGTERM", "exit status 1", "killed, or ended by exit_group". */
const char *mpr_report_fate(struct mpr_arena *arena, const struct mpr_summary *s);
/* For people: which blocks of malloc were recorded, unless all were. */
void mpr_report_recording(struct mpr_document *doc, const struct mpr_recording *r);
/* Returns true if freed blocks of the heap were only counted (thinning.md). */
bool mpr_report_is_thinned(const struct mpr_summary *s, uint8_t heap);

/* Returns the instant that a report about @at shows: the end of the log if @at is later. */
struct mpr_instant mpr_report_shown_instant(const struct mpr_summary *s, struct mpr_instant at);
/* Warn if @at is later than the end of the log: for people and as a field of the open object of
 * JSON, or only one of these. */
void mpr_report_too_late(struct mpr_document *doc, const struct mpr_summary *s,
                         struct mpr_instant at);
void mpr_report_too_late_line(struct mpr_document *doc, const struct mpr_summary *s,
                              struct mpr_instant at);
void mpr_report_too_late_field(struct mpr_document *doc, const struct mpr_summary *s,
                               struct mpr_instant at);

/* For people: the grouping that "auto" chose: "ranges: NVTX". Nothing if the user chose it. */
void mpr_report_choice(struct mpr_document *doc, const struct mpr_choice *choice);
/* Adds to a line about a heap that it is part of the heap @inside, unless that is MPF_HEAP_NONE. */
void mpr_report_inside(struct mpr_document *doc, uint8_t inside);
/* For people: notes about names that could not be found. */
void mpr_report_notes(struct mpr_document *doc, const char *const *note, size_t notes);

/* ---- parts of the report on ranks; private to this layer */

/* Add the processes that are compared, and those that are missing, incomplete or failed. @brief:
 * without notes about clocks and unrecorded blocks. */
void mpr_report_ranks_processes(struct mpr_document *doc, const struct mpr_ranks *ranks,
                                bool brief);
/* Adds the ranks whose peaks are outliers, and the causes. @brief: in fewer lines. */
void mpr_report_ranks_outliers(struct mpr_document *doc, const struct mpr_ranks *ranks, bool brief);
/* Adds the stages whose peaks differ, and the causes. */
void mpr_report_ranks_stages(struct mpr_document *doc, const struct mpr_ranks *ranks);

/* ---- parts of the summary that the card of the page also has; private to this layer */

/* The owners of a heap at an instant. */
struct mpr_owners {
    uint8_t of;        /* MPF_HEAP_NONE if nothing was recorded */
    const char *bytes; /* title of the bytes: "at the peak" */
    const struct mpr_row *row;
    size_t rows;
    uint64_t whole;
    const struct mpr_device_state *asleep; /* a device state with more PyTorch blocks, of which the
                                              memory is unmapped; or NULL */
};

/* Returns the owners of the device that ran out of memory, otherwise of the largest heap that is
 * not part of another one. PyTorch's blocks are preferred to its segments. If some are asleep
 * (unmapped), only those that had memory at the device's peak. */
struct mpr_owners mpr_report_summary_owners(const struct mpr_insights *insights);

/* Adds the line about device memory that ran out. */
void mpr_report_ran_out(struct mpr_document *doc, const struct mpr_insights_oom *oom);
/* Adds the line about the newest refusal of host memory, and their number. */
void mpr_report_refused(struct mpr_document *doc, const struct mpr_refused_request *refused);
/* Adds the lines with commands that show more.  @ranks: the job, or NULL. */
void mpr_report_next(struct mpr_document *doc, const struct mpr_insights *insights,
                     const struct mpr_ranks *ranks);

#endif
