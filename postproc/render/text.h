/* Helpers of the text renderer.  Private to this layer. */
#ifndef MPR_TEXT_H
#define MPR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "document.h"
#include "render.h"
#include "row.h"
#include "summary.h"
#include "units.h"

enum {
    MPR_TEXT_TOP = MPR_TOP,
    MPR_TEXT_PATH = 40
}; /* rows of a table; columns of a path, at least */

/* Writes text that came from the recorded program: what a terminal would act on, or nobody could
 * see, appears as \xNN or \u{NNNN}. */
void mpr_text_escaped(FILE *out, const char *text);
/* The same as a text that the caller frees. */
char *mpr_text_harmless(const char *text);
void mpr_text_tone(FILE *out, const struct mpr_style *style, enum mpr_tone tone);
/* The path of a row by `by`, harmless; the caller frees it. */
char *mpr_text_whole_path(struct mpr_path path, enum mpr_group by);
/* The lines above every report: whose log it is, what is missing, and (NULL: nothing) what "auto"
 * stands for. */
void mpr_text_log(FILE *out, const struct mpr_summary *summary, const struct mpr_choice *choice,
                  const struct mpr_style *style);
void mpr_text_notes(FILE *out, const char *const *note, size_t notes,
                    const struct mpr_style *style);

/* An instant of the log, as people want to see times. */
struct mpr_summary;
const char *mpr_text_time(struct mpr_number *n, const struct mpr_style *style,
                          const struct mpr_summary *summary, uint64_t ns);

#endif
