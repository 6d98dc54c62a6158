/* One function a report: it describes the analysis' result as a document.  The result must outlive
 * the document. */
#ifndef MPR_REPORTS_H
#define MPR_REPORTS_H

#include "document.h"
#include "instant.h"

struct mpr_breakdown;
struct mpr_breakdown_heap;
struct mpr_choice;
struct mpr_check;
struct mpr_check_row;
struct mpr_without_log;
struct mpr_diff;
struct mpr_finding;
struct mpr_finding_text;
struct mpr_graphs;
struct mpr_info;
struct mpr_leaks;
struct mpr_log_peaks;
struct mpr_heap_peak;
struct mpr_insights;
struct mpr_ooms;
struct mpr_peaks;
struct mpr_processes;
struct mpr_ranks;
struct mpr_recording;
struct mpr_segments;
struct mpr_steps;
struct mpr_summary;
struct mpr_temporary;
struct mpr_thread_use;
struct mpr_timeline;
struct mpr_top;
struct mpr_verify;

void mpr_report_check(struct mpr_document *doc, const struct mpr_check *check);
void mpr_report_diff(struct mpr_document *doc, const struct mpr_diff *diff);
void mpr_report_breakdown(struct mpr_document *doc, const struct mpr_breakdown *breakdown);
void mpr_report_graphs(struct mpr_document *doc, const struct mpr_graphs *graphs);
void mpr_report_info(struct mpr_document *doc, const struct mpr_info *info);
void mpr_report_leaks(struct mpr_document *doc, const struct mpr_leaks *leaks);
void mpr_report_insights(struct mpr_document *doc, const struct mpr_insights *insights);
void mpr_report_ooms(struct mpr_document *doc, const struct mpr_ooms *ooms);
/* Tables of the HTML page. */
void mpr_report_page(struct mpr_document *doc, const struct mpr_timeline *timeline);
void mpr_report_peaks(struct mpr_document *doc, const struct mpr_peaks *peaks);
/* The same of one log by thread, with the lifetimes of threads and all that they allocated. */
void mpr_report_peaks_by_thread(struct mpr_document *doc, const struct mpr_thread_use *use);
void mpr_report_processes(struct mpr_document *doc, const struct mpr_processes *processes);
void mpr_report_ranks(struct mpr_document *doc, const struct mpr_ranks *ranks);
void mpr_report_segments(struct mpr_document *doc, const struct mpr_segments *segments);
void mpr_report_steps(struct mpr_document *doc, const struct mpr_steps *steps);
void mpr_report_summary(struct mpr_document *doc, const struct mpr_insights *insights);
void mpr_report_temporary(struct mpr_document *doc, const struct mpr_temporary *temporary);
void mpr_report_top(struct mpr_document *doc, const struct mpr_top *top);
void mpr_report_verify(struct mpr_document *doc, const struct mpr_verify *verify);

/* ---- parts of one for others */

/* "range step * of host/heap"; and of one that is broken, by how much and where. */
/* The processes of a run that left no log. */
void mpr_report_rest(struct mpr_document *doc, const struct mpr_without_log *rest);
const char *mpr_report_limit(struct mpr_document *doc, const struct mpr_check_row *row);
const char *mpr_report_broken(struct mpr_document *doc, const struct mpr_check_row *row);

/* ---- what reports share */

/* Findings: all in JSON; the first ones for people. */
void mpr_report_finding_fields(struct mpr_document *doc, const struct mpr_insights *insights);
void mpr_report_findings(struct mpr_document *doc, const struct mpr_insights *insights,
                         size_t most);
/* The sentences of a finding, in the arena (finding_texts.c). */
struct mpr_finding_text mpr_finding_text(struct mpr_arena *arena,
                                         const struct mpr_finding *finding);
/* Its sentence with its path; the command that shows more of it. */
const char *mpr_report_finding_words(struct mpr_document *doc, const struct mpr_finding *finding);
const char *mpr_report_finding_command(struct mpr_document *doc,
                                       const struct mpr_insights *insights,
                                       const struct mpr_finding *finding);
/* The first field of JSON: which fields follow, a contract that memprof-report(1) lists. */
void mpr_report_schema(struct mpr_document *doc, const char *schema);
/* An instant of CLOCK_REALTIME in UTC, with milliseconds; "": not known. */
const char *mpr_report_start(struct mpr_document *doc, uint64_t ns);
/* Whose log it is, in a line. */
void mpr_report_title(struct mpr_document *doc, const struct mpr_summary *s);
/* The same in a few words, of the document's memory. */
const char *mpr_report_label(struct mpr_document *doc, const struct mpr_summary *s);
/* How it ended, in a word or two, in the arena: "exit", "OOM-killed". */
const char *mpr_report_ending(struct mpr_arena *arena, const struct mpr_summary *s);
/* The processes of a run in two lines; reported: the log that the rest is about. */
void mpr_report_family(struct mpr_document *doc, const struct mpr_processes *all,
                       const char *reported);
/* The fields of the log; for people its title and what is missing; both. */
void mpr_report_fields(struct mpr_document *doc, const struct mpr_summary *s);
void mpr_report_lines(struct mpr_document *doc, const struct mpr_summary *s);
void mpr_report_log(struct mpr_document *doc, const struct mpr_summary *s);
/* The instant that a report on @at shows: the end of the log if @at is later, else @at. */
struct mpr_instant mpr_report_shown(const struct mpr_summary *s, struct mpr_instant at);
/* Warns if @at is later than the end of the log, in a line for people and in a field of the JSON
 * object that is open; the line; the field. */
void mpr_report_too_late(struct mpr_document *doc, const struct mpr_summary *s,
                         struct mpr_instant at);
void mpr_report_too_late_line(struct mpr_document *doc, const struct mpr_summary *s,
                              struct mpr_instant at);
void mpr_report_too_late_field(struct mpr_document *doc, const struct mpr_summary *s,
                               struct mpr_instant at);
void mpr_report_losses(struct mpr_document *doc, const struct mpr_summary *s);
/* In which pass of training a heap's instant is: "in backward, 2 of 4 steps done". */
const char *mpr_report_pass(struct mpr_document *doc, const struct mpr_breakdown *breakdown,
                            const struct mpr_breakdown_heap *heap);
/* Which of malloc's blocks were recorded, where not each was. */
void mpr_report_blocks(struct mpr_document *doc, const struct mpr_recording *r);
/* Are blocks of that heap, which were made and freed again, only counted (thinning.md)? */
bool mpr_report_is_thinned(const struct mpr_summary *s, uint8_t heap);
/* "ranges: NVTX": what "auto" stands for; nothing where it was not asked for. */
void mpr_report_choice(struct mpr_document *doc, const struct mpr_choice *choice);
/* For people: what could not be done. */
/* Adds to a line about a heap that its bytes are part of the heap @inside.  MPF_HEAP_NONE: nothing.
 */
void mpr_report_inside(struct mpr_document *doc, uint8_t inside);
void mpr_report_notes(struct mpr_document *doc, const char *const *note, size_t notes);

#endif
