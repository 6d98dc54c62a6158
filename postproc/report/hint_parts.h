/* Parts of report_hint.h: each says nothing where there is little to say.  Private to report_hint.c
 * and hint_*.c. */
#ifndef MPR_HINT_PARTS_H
#define MPR_HINT_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "document.h"
#include "peaks.h"

/* Less is not worth another run: bytes, and a share of what it is a part of. */
enum { MPR_HINT_MUCH = 4 << 20, MPR_HINT_TENTH = 10 };
static inline bool mpr_hint_is_much(uint64_t bytes, uint64_t whole)
{
    return bytes >= MPR_HINT_MUCH && bytes > whole / MPR_HINT_TENTH;
}

/* hint_record.c: what would have a name in another recording. */
void mpr_hint_host(struct mpr_document *doc, const struct mpr_log_peaks *log);
void mpr_hint_torch(struct mpr_document *doc, const struct mpr_log_peaks *log);

/* hint_calls.c: calls that the log has, told by libraries, where ranges or Python name other
 * blocks; and those of which only the address is known.  noted: the report tells the log's notes.
 */
void mpr_hint_calls(struct mpr_document *doc, const struct mpr_log_peaks *log);
void mpr_hint_symbols(struct mpr_document *doc, const struct mpr_log_peaks *log, bool noted);

/* hint_allocator.c: blocks that are not seen because their allocator is inside the program. */
void mpr_hint_allocator(struct mpr_document *doc, const struct mpr_log_peaks *log);

#endif
