/* How a process ended, as the END of its log says. */
#ifndef MPF_END_H
#define MPF_END_H

/* X(NAME, "reason").  NONE: the log has no END.  RECOVERED: a recovery wrote END, so the reason is
 * not known. */
// clang-format off
#define MPF_ENDS(X)                 \
    X(NONE,       "")               \
    X(EXIT_NOW,   "_exit")          \
    X(DETACH,     "detach")         \
    X(EXEC,       "exec")           \
    X(EXIT,       "exit")           \
    X(QUICK_EXIT, "quick_exit")     \
    X(RECOVERED,  "recovered")      \
    X(OTHER,      "another reason") /* of a later version */

enum mpf_end {
#define X(name, text) MPF_END_##name,
    MPF_ENDS(X)
#undef X
};
// clang-format on
extern const char *const mpf_end_name[];

/* Returns the end of that name, or MPF_END_OTHER. */
enum mpf_end mpf_end_named(const char *name);

#endif
