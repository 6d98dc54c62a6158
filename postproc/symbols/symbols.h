/* Names for return addresses: function, file and line, inlined calls one by one.
 *
 * Needs the object files that the program ran, or their separate debug files, or the names that
 * were stored beside the log where they were; what was found of each is said.  A name is cut to the
 * bytes that one in a log may have (MPF_DATA_MAX).  Results live until mpr_symbols_free.  Not
 * thread-safe. */
#ifndef MPR_SYMBOLS_H
#define MPR_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object file as a log describes it. */
struct mpr_binary {
    const char *path;
    const uint8_t *build_id;
    size_t build_id_bytes; /* 0: the file is used only if it has none, either */
    uint64_t from;         /* where its first byte was mapped */
};

/* file NULL: not known */
struct mpr_symbol {
    const char *function, *file;
    unsigned line;
};

enum mpr_symbols_state {
    MPR_SYMBOLS_GOOD,
    MPR_SYMBOLS_STORED,        /* LOG.symbols has names of the object, whose file has one of the
                                  following states or was stripped */
    MPR_SYMBOLS_NOT_INSTALLED, /* the library for it is not on this machine; commands say it once
                                  (mpr_symbols_not_installed) */
    MPR_SYMBOLS_MISSING,       /* neither the file nor a debug file of its build id is here */
    MPR_SYMBOLS_OTHER,         /* the file has another build id */
    MPR_SYMBOLS_UNREADABLE, /* it is no object file, was truncated while it was read, or is others'
                               and too large to be copied */
    MPR_SYMBOLS_TOO_LARGE,  /* its debug sections unpack to too much: names come from the table of
                               symbols alone */
    MPR_SYMBOLS_NOT_BUILT,  /* this program was built without the library for it */
    MPR_SYMBOLS_NOT_ASKED,
};

/* The file beside the log, LOG.symbols: looked for when an object file is not here, or has no name
 * or no line for a call. */
enum mpr_symbols_beside {
    MPR_SYMBOLS_NOT_LOOKED,
    MPR_SYMBOLS_NONE_BESIDE,
    MPR_SYMBOLS_GOOD_BESIDE,
    MPR_SYMBOLS_OLD_BESIDE,     /* it lacks addresses of an object that it has: the log went on,
                                   or there was no room */
    MPR_SYMBOLS_DAMAGED_BESIDE, /* from here on: not used */
    MPR_SYMBOLS_FOREIGN_BESIDE, /* of another log */
    MPR_SYMBOLS_OWNED_BESIDE,   /* of a user who is neither the log's, nor who reads it, nor root */
    MPR_SYMBOLS_UNREADABLE_BESIDE,
    MPR_SYMBOLS_NEWER_BESIDE, /* of a version that this program does not know */
};

struct mpr_symbols;

/* For the log of that path, which must last as long, and id; NULL: nothing lies beside it. */
struct mpr_symbols *mpr_symbols_new(const char *log, const uint8_t id[16]);
void mpr_symbols_free(struct mpr_symbols *s);
/* The calls at a return address in the object of that number (the caller's; always the same
 * object), innermost first. *count 0: nothing is known. */
const struct mpr_symbol *mpr_symbols_look(struct mpr_symbols *s, uint32_t number,
                                          const struct mpr_binary *object, uint64_t pc,
                                          size_t *count);
/* The same for code that a JIT generated, by its map (perf_map.h). */
const struct mpr_symbol *mpr_symbols_generated(struct mpr_symbols *s, uint64_t pc, size_t *count);
/* The state of that map; MPR_SYMBOLS_NOT_LOOKED if it was not needed. */
enum mpr_symbols_beside mpr_symbols_map(const struct mpr_symbols *s);
enum mpr_symbols_state mpr_symbols_state(const struct mpr_symbols *s, uint32_t number);
enum mpr_symbols_beside mpr_symbols_beside(const struct mpr_symbols *s);
/* Looks for the file now, which would else wait for an object that is not here. */
enum mpr_symbols_beside mpr_symbols_look_beside(struct mpr_symbols *s);
/* Returns true if calls have no names in this run because libdw is not on this machine. */
bool mpr_symbols_not_installed(void);
/* Why debug files are not fetched in this run although there are servers; NULL: nothing is wrong.
 */
const char *mpr_symbols_not_fetched(void);

#endif
