/* Text from recorded programs, which may be any bytes: escapes, measures and shortens it. */
#ifndef MPR_UTF8_H
#define MPR_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "arena.h"

/* Reads the code point at *at and moves *at after it.  Returns false for a byte that is not part of
 * valid UTF-8, and sets *code to that byte. */
bool mpr_utf8_next(const char **at, uint32_t *code);
/* Returns the columns that a character takes on a terminal: 2 for a wide one, 0 for a combining
 * mark.  The C library decides, in a UTF-8 locale, or the function given to mpr_utf8_set_width. */
size_t mpr_utf8_width(uint32_t code);
/* Sets the width of characters for output in ASCII only, or NULL for the C library's widths. */
void mpr_utf8_set_width(size_t (*width)(uint32_t code));
/* Returns the columns of a text.  A byte that is not UTF-8 takes one column, or the four of \xNN if
 * a function was given to mpr_utf8_set_width. */
size_t mpr_utf8_columns(const char *text);
/* Returns true for a character that must be escaped: a control character, a mark that changes the
 * direction of text, or an invisible character. */
bool mpr_utf8_unsafe(uint32_t code);
/* Returns true if the output shows this character unchanged. */
bool mpr_utf8_shown(uint32_t code);
/* Writes a character as \xNN or \u{NNNN}. */
void mpr_utf8_escape(FILE *out, uint32_t code);
/* Returns true at the beginning of a command that CI services execute when they find it in the
 * output of a job: "::error::" at the beginning of a line or word, "##[error]" and "##vso[". */
bool mpr_utf8_begins_ci_command(char before, uint32_t code, char next);
/* Writes the text with unsafe characters and commands escaped, and bytes that are not UTF-8 as
 * \xNN. */
void mpr_utf8_write_escaped(FILE *out, const char *text);
/* Writes the text with the replacement character for each byte that is not UTF-8. */
void mpr_utf8_write_repaired(FILE *out, const char *text);
/* Returns such a text, which the caller frees, or NULL if the text is valid UTF-8.  *bytes: the
 * length of the result, or of the valid text. */
char *mpr_utf8_repaired(const char *text, size_t *bytes);

/* Quotes a word for a shell command that a person can copy, if needed: with single quotes, or with
 * bash's $'...' if it has characters that cannot be shown.  The result is never empty. */
const char *mpr_shell_word(struct mpr_arena *arena, const char *word);
/* Returns the text if it has at most @max bytes, or else the text with "..." instead of its middle.
 * The last component of a path stays if there is room. */
const char *mpr_utf8_shortened(struct mpr_arena *arena, const char *text, size_t max);

#endif
