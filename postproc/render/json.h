/* A JSON writer.  It adds commas, indentation and escapes, and replaces invalid UTF-8, so its
 * output is always valid JSON.  Private to this layer. */
#ifndef MPR_JSON_H
#define MPR_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "frame.h"
#include "group.h"
#include "instant.h"

struct mpr_document;
struct mpr_summary;

/* The caller sets `out`, `first` to true, and `in_html`. */
struct mpr_json {
    FILE *out;
    int depth;
    bool first;
    bool in_html; /* for a script element: texts have no "<", and everything is on one line */
};

/* In all functions key is NULL inside an array. */
void mpr_json_open(struct mpr_json *j, const char *key, char bracket);
void mpr_json_close(struct mpr_json *j, char bracket);
void mpr_json_text(struct mpr_json *j, const char *key, const char *text);
void mpr_json_number(struct mpr_json *j, const char *key, uint64_t number);
void mpr_json_signed(struct mpr_json *j, const char *key, int64_t number);
void mpr_json_flag(struct mpr_json *j, const char *key, bool flag);
void mpr_json_null(struct mpr_json *j, const char *key);
/* Writes null if the value is `unknown`. */
void mpr_json_known(struct mpr_json *j, const char *key, uint64_t value, uint64_t unknown);
/* Writes a percentage as a fraction of 1. */
void mpr_json_percent(struct mpr_json *j, const char *key, double percent);
/* Arrays of numbers stay on one line. */
void mpr_json_numbers(struct mpr_json *j, const char *key, const uint64_t *numbers, size_t count);
void mpr_json_signeds(struct mpr_json *j, const char *key, const int64_t *numbers, size_t count);
void mpr_json_texts(struct mpr_json *j, const char *key, const char *const *text, size_t count);
/* Writes the texts of the frames, outermost first. */
void mpr_json_path(struct mpr_json *j, const char *key, struct mpr_path path);

/* Writes the fields and the tables of the document, with @top rows, or all if it is 0. */
void mpr_json_document(struct mpr_json *j, const struct mpr_document *doc, size_t top);
/* Writes the fields of the log, and a warning if @at is later than the log's end. */
void mpr_json_log(struct mpr_json *j, const struct mpr_summary *s, struct mpr_instant at);

#endif
