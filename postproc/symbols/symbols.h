/* Finds the names of return addresses: function, file and line, with a symbol for each inlined
 * call.
 *
 * The names come from the object files of the program, from their debug files, or from LOG.symbols
 * (store.h).  They are cut to the maximum length of names in a log (MPF_DATA_MAX bytes), and are
 * valid until mpr_symbols_free.  Not thread-safe. */
#ifndef MPR_SYMBOLS_H
#define MPR_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object file as a log describes it. */
struct mpr_binary {
    const char *path;
    const uint8_t *build_id;
    size_t build_id_bytes; /* 0: the file is used only if it has no build id either */
    uint64_t from;         /* address of its first byte */
};

struct mpr_symbol {
    const char *function, *file; /* file: NULL if unknown */
    unsigned line;
};

/* The state of an object. */
enum mpr_symbols_state {
    MPR_SYMBOLS_GOOD,
    MPR_SYMBOLS_STORED,        /* names come from LOG.symbols, because the file has one of the
                                  following states or was stripped */
    MPR_SYMBOLS_NOT_INSTALLED, /* libdw is not on this machine */
    MPR_SYMBOLS_MISSING,       /* neither the file nor a debug file with its build id is here */
    MPR_SYMBOLS_OTHER,         /* the file has another build id */
    MPR_SYMBOLS_UNREADABLE,    /* it is not an object file, was truncated while it was read, or
                                  others may change it and it is too large to be copied */
    MPR_SYMBOLS_TOO_LARGE,     /* its debug sections unpack to too many bytes, so names come only
                                  from the symbol table */
    MPR_SYMBOLS_NOT_BUILT,     /* this program was built without libdw */
    MPR_SYMBOLS_NOT_ASKED,
};

/* The state of LOG.symbols or LOG.perfmap.  LOG.symbols is read when an object file is not here, or
 * has no name or no line for a call. */
enum mpr_symbols_stored_state {
    MPR_SYMBOLS_FILE_NOT_READ,
    MPR_SYMBOLS_FILE_MISSING,
    MPR_SYMBOLS_FILE_GOOD,
    MPR_SYMBOLS_FILE_INCOMPLETE, /* addresses of an object are missing: the log has grown, or the
                                    file would have been too large */
    MPR_SYMBOLS_FILE_DAMAGED,    /* with this and each following state the file is not used */
    MPR_SYMBOLS_FILE_FOREIGN,    /* of another log */
    MPR_SYMBOLS_FILE_UNTRUSTED,  /* its owner is neither the log's owner nor this user nor root */
    MPR_SYMBOLS_FILE_UNREADABLE,
    MPR_SYMBOLS_FILE_NEWER, /* its version is newer than this program */
};

struct mpr_symbols;

/* @log: path of the log, which must outlive the result, or NULL if no files are kept with it
 * @id: the id of the log */
struct mpr_symbols *mpr_symbols_new(const char *log, const uint8_t id[16]);
void mpr_symbols_free(struct mpr_symbols *s);
/* Returns the calls at a return address, innermost first; *count is 0 if nothing is known.
 * @number: a number that the caller gives to the object, always the same one */
const struct mpr_symbol *mpr_symbols_find(struct mpr_symbols *s, uint32_t number,
                                          const struct mpr_binary *object, uint64_t pc,
                                          size_t *count);
/* Does the same for code that a JIT compiler generated, with LOG.perfmap (file.h). */
const struct mpr_symbol *mpr_symbols_find_generated(struct mpr_symbols *s, uint64_t pc,
                                                    size_t *count);
/* Returns the state of LOG.perfmap, or MPR_SYMBOLS_FILE_NOT_READ if it was not needed. */
enum mpr_symbols_stored_state mpr_symbols_map_state(const struct mpr_symbols *s);
enum mpr_symbols_state mpr_symbols_state(const struct mpr_symbols *s, uint32_t number);
/* Returns the state of LOG.symbols. */
enum mpr_symbols_stored_state mpr_symbols_stored_state(const struct mpr_symbols *s);
/* Reads LOG.symbols now if it was not read yet, and returns its state. */
enum mpr_symbols_stored_state mpr_symbols_read_stored(struct mpr_symbols *s);
/* Returns true if calls have no names in this run because libdw is not on this machine. */
bool mpr_symbols_not_installed(void);
/* Returns the reason why servers of debug files did not answer in this run, or NULL. */
const char *mpr_symbols_not_fetched(void);

#endif
