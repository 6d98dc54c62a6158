/* The formats of `memprof-report export` that are not made from a document.  Each has a file. */
#ifndef MPR_EXPORTS_H
#define MPR_EXPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "arena.h"
#include "blob.h"
#include "document.h"
#include "export.h"
#include "index.h"

/* ---- SQLite
 *
 * A database whose tables have the columns of documents, so that names and meanings are the same as
 * in CSV and JSON.
 *
 * Everything is one transaction.  The file replaces an older one of that name when it is complete
 * (file.h).  A device, a pipe, or a link in a folder that the caller opened is refused.
 *
 * A build without SQLite has the same functions, and opening always fails. */

struct mpr_database;
struct mpr_digest;
struct sqlite3;

bool mpr_database_available(void);

struct mpr_database_kind {
    unsigned application, version; /* SQLite's application_id and user_version */
    unsigned page_bytes;           /* each table takes at least one page */
};

struct mpr_database_place {
    const char *path;
    int directory; /* a descriptor of the path's folder, in which others cannot replace files, or
                      AT_FDCWD */
    mode_t mode;   /* of a new file, less the umask.  With AT_FDCWD an old file keeps its mode */
};

/* Creates a database.  Returns NULL and sets *why, which is never freed, if that fails.  *why is
 * MPR_FILE_BUSY (file.h) if another process is writing a file of that name. */
struct mpr_database *mpr_database_open(const struct mpr_database_place *place,
                                       const struct mpr_database_kind *kind, const char **why);
/* Sets the process of the rows that are added from now on, at least 1. */
void mpr_database_process(struct mpr_database *db, uint64_t process);
/* Adds rows to a table, which is created at its first use.  The table's description must exist
 * until the database is closed. */
void mpr_database_put(struct mpr_database *db, const struct mpr_export_table *table,
                      const void *row, size_t rows, size_t stride, const void *context);
/* Adds the document's CSV records to a table, without the columns log and pid. */
void mpr_database_document(struct mpr_database *db, const char *name,
                           const struct mpr_document *doc);
/* Runs a statement, which creates a view or an index. */
void mpr_database_run(struct mpr_database *db, const char *sql);
/* Returns true if anything failed.  Then nothing will be written. */
bool mpr_database_failed(const struct mpr_database *db);
/* Deletes the rows of the current process. */
void mpr_database_forget(struct mpr_database *db);
/* Writes the file if `keep` is true and nothing failed.  Returns NULL, or the text of the first
 * failure, which is never freed. */
const char *mpr_database_close(struct mpr_database *db, bool keep);

/* Does the same as sqlite3_open_v2, for regular files only, because opening a pipe would block.
 * Private to this layer, and not in a build without SQLite.
 * @fd: the file to write, which the caller owns and has locked; or -1 to open the file by name */
int mpr_database_file_open(const char *name, int fd, struct sqlite3 **db, int flags);

/* ---- digests as files
 *
 * A file is checked like a log: each row must have values of its columns' types.  Views, triggers
 * and functions of the file are not run, and reading ends when there are too many rows. */

/* Writes the digest.  Returns NULL, or the reason for a failure, which is never freed.  Then an
 * older file stays unchanged. */
const char *mpr_digest_write(const struct mpr_digest *digest,
                             const struct mpr_database_place *place);

enum mpr_digest_found {
    MPR_DIGEST_GOOD,
    MPR_DIGEST_MISSING,  /* no such file */
    MPR_DIGEST_NOT_READ, /* no permission to read it, or a build without SQLite */
    MPR_DIGEST_FOREIGN,  /* not a digest */
    MPR_DIGEST_DAMAGED,  /* damaged, or of an older version */
    MPR_DIGEST_NEWER,    /* a version that this program cannot read */
};
/* If the result is GOOD, the caller frees *digest; otherwise *why is the reason, in the arena. */
enum mpr_digest_found mpr_digest_read(struct mpr_digest *digest, const char *path,
                                      struct mpr_arena *arena, const char **why);

/* ---- Perfetto
 *
 * A trace for Perfetto (a sequence of TracePacket) of one or more processes.  Heaps and readings of
 * the kernel and the driver are counters, ranges are slices of their threads, and graphs, failures
 * and marks are instants.  Times are CLOCK_REALTIME. */

struct mpr_range_event;
struct mpr_timeline;

struct mpr_perfetto {
    FILE *out;
    struct mpr_blob packet, data, inside, deepest; /* each is a message in the one before it */
    struct mpr_strings names;                      /* of slices */
    struct mpr_index track; /* tracks of threads and domains that are described */
    struct mpr_index pids;  /* pids that the trace uses */
    uint32_t replaced;      /* number of processes and threads with another number in the trace */
    const struct mpr_timeline *timeline; /* of the current process */
    uint64_t process;                    /* its number, from 1 */
    uint64_t pid, start_ns;              /* pid: its number in the trace */
};

void mpr_perfetto_begin(struct mpr_perfetto *p, FILE *out);
/* Begins a process: writes its counters and instants.  Its ranges follow as turns.  The timeline
 * must exist until the last one. */
void mpr_perfetto_process(struct mpr_perfetto *p, const struct mpr_timeline *timeline);
void mpr_perfetto_range_event(struct mpr_perfetto *p, const struct mpr_range_event *event);
void mpr_perfetto_free(struct mpr_perfetto *p);

/* ---- pprof
 *
 * A profile for pprof (profile.proto, packed by gzip) of one or more processes.  A sample is a call
 * stack below its heap, and has heap, range, thread, rank and pid as labels. */

struct mpr_profile;

struct mpr_pprof {
    struct mpr_blob profile, message, inside; /* each is a part of the one before it */
    struct mpr_strings texts;
    struct mpr_index function; /* by numbers of name and file: its id */
    struct mpr_index heap;     /* by id of its function: the id of its location */
    uint32_t functions, locations, mappings;
    uint32_t *of_frame, *of_module; /* for each frame and module of the log that is added: its
                                       location and mapping */
    uint32_t frames, modules;
    uint64_t begin_ns, end_ns; /* CLOCK_REALTIME; end_ns 0: no log was added */
};

void mpr_pprof_begin(struct mpr_pprof *p);
void mpr_pprof_add(struct mpr_pprof *p, const struct mpr_profile *profile);
/* Writes the profile; errors stay in the stream. */
void mpr_pprof_end(struct mpr_pprof *p, FILE *out);
void mpr_pprof_free(struct mpr_pprof *p);

/* ---- PyTorch
 *
 * A snapshot of PyTorch's allocator, in the format of torch.cuda.memory._dump_snapshot. */

struct mpr_error;
struct mpr_progress;
struct mpr_torch_survey;

/* The snapshot has blocks of at least min_bytes, from from_ns to until_ns. */
struct mpr_torch_export {
    const char *log;
    const struct mpr_torch_survey *survey; /* of that log */
    uint64_t min_bytes, from_ns, until_ns;
};

/* Reads the log for the traces of each device, then for annotations, and writes the snapshot.
 * Returns 0, or -1 with *error filled.  Output errors stay in the stream. */
int mpr_torch_snapshot_write(FILE *out, const struct mpr_torch_export *of,
                             const struct mpr_progress *progress, struct mpr_error *error);

#endif
