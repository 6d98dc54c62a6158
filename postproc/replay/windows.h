/* Capture windows (WINDOW events): when they were open. */
#ifndef MPR_WINDOWS_H
#define MPR_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

/* Times are those of events: ns since the log's start. */
struct mpr_windows {
    bool open;
    uint64_t since;             /* of the one that is open */
    uint64_t count;             /* opened so far */
    uint64_t first_ns, last_ns; /* the first opening, the last closing */
    uint64_t closed_ns;         /* together, of those that are closed */
};

/* What the event says: the window opens, or closes. */
static inline void mpr_windows_turn(struct mpr_windows *w, bool open, uint64_t time)
{
    if (open == w->open) return;
    w->open = open;
    if (open) {
        if (!w->count++) w->first_ns = time;
        w->since = time;
        return;
    }
    w->last_ns = time;
    w->closed_ns += time - w->since;
}

#endif
