/* Names for return addresses: function, file and line, inlined calls one by one.
 *
 * Needs the object files that the program ran, or their separate debug files; what was found of
 * each is said.  Results live until mpr_symbols_free.  Not thread-safe. */
#ifndef MPR_SYMBOLS_H
#define MPR_SYMBOLS_H

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
    MPR_SYMBOLS_MISSING,    /* neither the file nor a debug file of its build id is here */
    MPR_SYMBOLS_OTHER,      /* the file has another build id */
    MPR_SYMBOLS_UNREADABLE, /* it is no object file */
    MPR_SYMBOLS_TOO_LARGE,  /* its debug sections unpack to too much: names come from the table of
                               symbols alone */
    MPR_SYMBOLS_NOT_BUILT,  /* this program was built without the library for it */
    MPR_SYMBOLS_NOT_ASKED,
};

struct mpr_symbols;

struct mpr_symbols *mpr_symbols_new(void);
void mpr_symbols_free(struct mpr_symbols *s);
/* The calls at a return address in the object of that number (the caller's; always the same
 * object), innermost first. *count 0: nothing is known. */
const struct mpr_symbol *mpr_symbols_look(struct mpr_symbols *s, uint32_t number,
                                          const struct mpr_binary *object, uint64_t pc,
                                          size_t *count);
enum mpr_symbols_state mpr_symbols_state(const struct mpr_symbols *s, uint32_t number);

#endif
