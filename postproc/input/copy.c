/* The times of a file never prove that a copy was made late: a copy of a copy, or a file out of an
 * archive, is newer than its contents.  They can only prove that it was made too early. */
#include "copy.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

/* A living process beats every 100 ms; the launcher sees its end once its memory is given back. */
#define BEAT_LATE_NS UINT64_C(1000000000)

/* A journal on an overlay has no lock that lasts, and its device another number at each mount. */
static bool on_overlay(const struct mpf_journal *head)
{
    return !(head->flags & MPF_JOURNAL_LOCKED) && major(head->self.dev) == 0;
}

static bool is_file(const struct mpf_journal *head, const struct mpf_file *recorded,
                    const struct stat *st)
{
    return mpr_life_same_file(recorded, &head->process, st) ||
           (recorded->ino && recorded->ino == st->st_ino && on_overlay(head));
}

static bool is_own_journal(const struct mpr_journal *j)
{
    return is_file(&j->head, &j->head.self, &j->st);
}

static bool is_own_log(const struct mpf_journal *head, const struct stat *log)
{
    return is_file(head, &head->log, log) || is_file(head, &head->heir, log);
}

bool mpr_copy_is(const struct mpr_journal *journal, const struct stat *log)
{
    const struct mpf_journal *head = &journal->head;
    return journal->image && head->self.ino && head->log.ino &&
           !(is_own_journal(journal) && is_own_log(head, log));
}

/* CLOCK_REALTIME ns when the file was made here, or if the file system does not keep that, when it
 * was changed last; 0: not known. */
static uint64_t made(int fd)
{
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME | STATX_CTIME, &st) != 0) return 0;
    const struct statx_timestamp *at = (st.stx_mask & STATX_BTIME) ? &st.stx_btime : &st.stx_ctime;
    return at->tv_sec > 0 ? (uint64_t)at->tv_sec * 1000000000u + at->tv_nsec : 0;
}

/* The journal is as its process left it: the record says that a signal ended that, just after the
 * last beat, and no copy here was begun before. */
static bool had_ended(const struct mpr_copied *c)
{
    const uint64_t beat = c->journal->head.beat;
    return c->end.known && c->end.how == MPR_RUN_SIGNAL && c->end.mono >= beat &&
           c->end.mono - beat <= BEAT_LATE_NS && made(c->journal->fd) > c->end.real &&
           (is_own_log(&c->journal->head, c->log) || made(c->log_fd) > c->end.real);
}

bool mpr_copy_may_miss(const struct mpr_copied *c)
{
    if (!mpr_copy_is(c->journal, c->log)) return false;
    if (c->newest_frame < c->journal->head.last.mono) return true; /* the log was copied before */
    return is_own_journal(c->journal) ? c->life != MPR_LIFE_ENDED : !had_ended(c);
}
