/* Text of unknown origin: what a recorded program calls its ranges may be any bytes. */
#ifndef MPR_UTF8_H
#define MPR_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Next code point of *at, which is moved on.  False for a byte that is not part of valid UTF-8:
 * *code is that byte. */
bool mpr_utf8_next(const char **at, uint32_t *code);
/* Columns of a terminal that a character takes: 2 of a wide one, 0 of a mark on the one before.  By
 * the C library, whose locale must be one of UTF-8, or as whoever writes the text says, with ASCII
 * alone (NULL: by the library again). */
size_t mpr_utf8_width(uint32_t code);
void mpr_utf8_shown_as(size_t (*width)(uint32_t code));
/* A byte that is none takes one, or that of \xNN where whoever writes the text says so. */
size_t mpr_utf8_columns(const char *text);
/* Must not be shown as it is: controls, marks that turn the direction of text, and what cannot be
 * seen. */
bool mpr_utf8_unsafe(uint32_t code);
/* Is it shown as it is, also by whoever writes the text? */
bool mpr_utf8_shown(uint32_t code);
/* One that is unsafe as \xNN or \u{NNNN}. */
void mpr_utf8_escape(FILE *out, uint32_t code);
/* Does a command of a CI service begin here, which reads what its jobs print?  "::error::" begins a
 * line or a word, "##[error]" and "##vso[" stand anywhere. */
bool mpr_utf8_commands(char before, uint32_t code, char next);
/* The text with all of them so written, and bytes that are no UTF-8 as \xNN. */
void mpr_utf8_escaped(FILE *out, const char *text);
/* For who takes any UTF-8: the text with the character that stands for other bytes in place of
 * each. */
void mpr_utf8_mended(FILE *out, const char *text);
/* The same as a text of the caller's; NULL: there is nothing to mend.  *bytes: of the text, or of
 * that. */
char *mpr_utf8_mend(const char *text, size_t *bytes);

struct mpr_arena;

/* A text of more bytes than so many with "..." in place of its middle: its end tells, too, of a
 * path its last name.  Of others the text itself. */
const char *mpr_utf8_shortened(struct mpr_arena *arena, const char *text, size_t most);

#endif
