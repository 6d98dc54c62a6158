/* The log file: created with its header, extended frame by frame, ended.
 *
 * The file is opened by path, and its inode is compared. Memprof's threads keep it open in their
 * descriptor table. The constructor closes it after each use. Up to MP_WRITERS threads encode
 * frames at once, each with its buffers (`writer`), and write them in turn. All other functions run
 * under epoch_lock while no frame is being written, or before there is a second thread. */
#ifndef MP_LOGFILE_H
#define MP_LOGFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpf/columns.h"
#include "mpf/slot.h"

/* Creates the file (mode 0600, never an existing one: suffix .2, .3, ...) and its missing folders.
 * If that fails, prints a line on stderr and returns false. */
bool mp_logfile_create(uint8_t id[16]);
/* Writes the HEADER frame, after the journal was created. */
bool mp_logfile_header(const uint8_t id[16]);
/* Allocates memory for frames with bodies of this many bytes. Returns false without memory. */
bool mp_logfile_prepare(unsigned writer, size_t body_bytes);
/* Returns the number of the next frame. */
uint64_t mp_logfile_next(void);
/* Encodes an EVENTS frame that is expected to get the number seq. */
bool mp_logfile_events(unsigned writer, uint64_t seq, struct mpf_columns *columns,
                       const struct mpf_clock *from, const struct mpf_clock *to);
/* Writes it. Returns 0, or -E... if it could not be written, which leaves the file unchanged. */
int mp_logfile_write(unsigned writer);
/* Returns its bytes, or 0 if it could not be encoded. */
uint64_t mp_logfile_frame_bytes(unsigned writer);
/* Writes the END frame. */
bool mp_logfile_end(const char *reason);
/* Removes the END frame again. */
void mp_logfile_go_on(void);
/* Removes the file, and creates it again. The latter returns false if that failed. */
void mp_logfile_put_away(void);
bool mp_logfile_bring_back(void);
/* Called by memprof's thread that has a new descriptor table: opens the log there, if it exists,
 * and keeps it open. */
void mp_logfile_keep_open(void);
void mp_logfile_remove(void);
/* Returns true if the path no longer leads to the file. */
bool mp_logfile_gone(void);
const char *mp_logfile_path(void);
const char *mp_logfile_word(void); /* quoted for a shell; valid until the next call */
struct mpf_file mp_logfile_file(void);
uint64_t mp_logfile_bytes(void);
/* Called in a forked child before mp_logfile_create, because the present log is the parent's. */
void mp_logfile_inherit(void);
/* Called before mp_logfile_create in a process whose previous recording has ended. */
void mp_logfile_renew(void);

#endif
