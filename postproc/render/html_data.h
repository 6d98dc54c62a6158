/* The data of the page, which viewer/src/data.js reads.  Private to this layer. */
#ifndef MPR_HTML_DATA_H
#define MPR_HTML_DATA_H

#include <stdio.h>

#include "arena.h"
#include "html.h"
#include "json.h"
#include "segments.h"
#include "user_frame.h"

void mpr_html_data(FILE *out, const struct mpr_page *page);

/* Writes the fields "path" and "caller" of a row.  A frame of the path is its text, or a list of
 * its name, file and line, of which the page makes the same text.  An empty path gets the name that
 * tables of that grouping show. */
void mpr_html_path(struct mpr_json *j, struct mpr_path path, const char *caller, enum mpr_group by);

/* ---- results of other reports (html_reports.c); those of one that was not computed are empty */

void mpr_html_steps(struct mpr_json *j, const struct mpr_insights *insights,
                    const struct mpr_naming *naming);
/* The state of the process, its failure, and its owners; for the timeline that the page opens with
 * also the lines about the job. */
void mpr_html_card(struct mpr_json *j, const struct mpr_page *page, size_t log);
void mpr_html_findings(struct mpr_json *j, const struct mpr_insights *insights,
                       const struct mpr_naming *naming);
/* The NCCL communicators of each device when memory ran out, else at the device's peak. */
void mpr_html_comms(struct mpr_json *j, const struct mpr_insights *insights);
/* Sentences on what was not recorded, and commands that record it.  Each is a text, and whether it
 * is a command. */
void mpr_html_notes(struct mpr_json *j, const struct mpr_timeline *timeline,
                    const struct mpr_insights *insights, const struct mpr_naming *naming);
/* The accounts that changed, each with its rows of `diff` that changed most. */
void mpr_html_differences(struct mpr_json *j, const struct mpr_diff *diff,
                          const struct mpr_naming *naming);
/* The verdict on the two runs; null without @verdict. */
struct mpr_verdict;
void mpr_html_verdict(struct mpr_json *j, const struct mpr_diff *diff,
                      const struct mpr_verdict *verdict, const struct mpr_naming *naming);

/* ---- packed columns (html_columns.c) */

/* A device's segments at an instant of the page. */
struct mpr_page_instant {
    uint64_t device, at_oom, since, time;
    uint64_t segments, bytes, live, split_free, idle, graph_free, outside;
    uint64_t rows, pins; /* how many of these the page has */
};

/* An owner of blocks that keep split memory. */
struct mpr_page_pin {
    uint64_t path; /* index of mpr_page_segments.path */
    uint64_t free, segments, blocks, bytes;
};

/* PyTorch's segments at the page's instants.  Rows and pins of all instants follow each other. */
struct mpr_page_segments {
    struct mpr_arena arena;
    struct mpr_page_instant *instant;
    size_t instants, instant_cap;
    struct mpr_segment *row;
    size_t rows, row_cap;
    struct mpr_page_pin *pin;
    size_t pins, pin_cap;
    struct mpr_frame_summary *path; /* shortened for people */
    size_t paths, path_cap;
};

/* The first instant is the one at which memory ran out because the page opens there; peaks and the
 * other instants follow. */
void mpr_page_segments_fill(struct mpr_page_segments *out, const struct mpr_timeline *t,
                            const struct mpr_naming *naming);
void mpr_page_segments_free(struct mpr_page_segments *segments);

/* A log's data has three parts: "b3" is JSON, "b3-levels" has the columns that the page needs of
 * each log, and "b3-details" those that it reads when the log is chosen. */
void mpr_html_levels(FILE *out, const struct mpr_timeline *t, size_t log);
void mpr_html_details(FILE *out, const struct mpr_timeline *t,
                      const struct mpr_page_segments *segments, size_t log);

#endif
