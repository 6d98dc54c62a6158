/* A JSON writer: commas, indentation and escapes; what it writes is valid UTF-8 whatever it is
 * given. */
#ifndef MPR_JSON_H
#define MPR_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "frame.h"
#include "group.h"

/* in_html: no "<" in its texts, so that it can stand in a script element, and one line. */
struct mpr_json {
    FILE *out;
    int depth;
    bool first, in_html;
};

/* key: NULL inside an array. */
void mpr_json_open(struct mpr_json *j, const char *key, char bracket);
void mpr_json_close(struct mpr_json *j, char bracket);
void mpr_json_text(struct mpr_json *j, const char *key, const char *text);
void mpr_json_number(struct mpr_json *j, const char *key, uint64_t number);
void mpr_json_signed(struct mpr_json *j, const char *key, int64_t number);
/* Of a whole that is 100: as a fraction of 1. */
void mpr_json_percent(struct mpr_json *j, const char *key, double percent);
/* On one line. */
void mpr_json_numbers(struct mpr_json *j, const char *key, const uint64_t *numbers, size_t count);
void mpr_json_signeds(struct mpr_json *j, const char *key, const int64_t *numbers, size_t count);
void mpr_json_flag(struct mpr_json *j, const char *key, bool flag);
/* A path as a list, outermost first. */
void mpr_json_texts(struct mpr_json *j, const char *key, const char *const *text, size_t count);
void mpr_json_path(struct mpr_json *j, const char *key, struct mpr_path path);
/* A path in the page's data; an empty one gets the name that tables by that group show. */
void mpr_json_page_path(struct mpr_json *j, struct mpr_path path, enum mpr_group by);
/* null when the value is `unknown`. */
void mpr_json_known(struct mpr_json *j, const char *key, uint64_t value, uint64_t unknown);
void mpr_json_null(struct mpr_json *j, const char *key);

#endif
