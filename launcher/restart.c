#include "restart.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

/* The kernel's own values of a stopped call. The third needs state of the kernel that a return from
 * a signal handler discards, so such a thread is not chosen for a call. */
enum { RESTART_SYS = 512, RESTART_NO_INTERRUPT, RESTART_NO_HANDLER, RESTART_BLOCK = 516 };
enum { CALL_BYTES = 2 }; /* of the instruction syscall */

/* Newer than the headers of some C libraries. */
enum { EPOLL_PWAIT2 = 441, IO_URING_ENTER = 426, IO_PGETEVENTS = 333 };

static const unsigned short waits[] = {
    SYS_read,          SYS_readv,      SYS_pread64,
    SYS_poll,          SYS_ppoll,      SYS_select,
    SYS_pselect6,      SYS_epoll_wait, SYS_epoll_pwait,
    EPOLL_PWAIT2,      SYS_nanosleep,  SYS_clock_nanosleep,
    SYS_pause,         SYS_accept,     SYS_accept4,
    SYS_recvfrom,      SYS_recvmsg,    SYS_recvmmsg,
    SYS_wait4,         SYS_waitid,     SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend, SYS_futex,      SYS_flock,
    SYS_msgrcv,
};

/* These return EINTR without having done anything. */
static const unsigned short interrupted[] = {
    SYS_epoll_wait, SYS_epoll_pwait,  EPOLL_PWAIT2,  SYS_rt_sigtimedwait, SYS_semop,
    SYS_semtimedop, SYS_io_getevents, IO_PGETEVENTS, IO_URING_ENTER,      SYS_accept,
    SYS_accept4,    SYS_recvfrom,     SYS_recvmsg,   SYS_recvmmsg,        SYS_read,
    SYS_readv,      SYS_sendto,       SYS_sendmsg,   SYS_write,           SYS_writev,
};

static bool contains(const unsigned short *list, size_t count, unsigned long long call)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == call) return true;
    return false;
}
#define CONTAINS(list, call) contains(list, sizeof list / sizeof *list, call)

static long long result(const struct user_regs_struct *regs) { return (long long)regs->rax; }

bool mpl_is_in_call(const struct user_regs_struct *regs) { return (long long)regs->orig_rax >= 0; }

static bool is_made_again(const struct user_regs_struct *regs)
{
    return result(regs) <= -RESTART_SYS && result(regs) >= -RESTART_NO_HANDLER;
}

bool mpl_waits_safely(const struct user_regs_struct *regs)
{
    return mpl_is_in_call(regs) && is_made_again(regs) && CONTAINS(waits, regs->orig_rax);
}

bool mpl_repeat_call(struct user_regs_struct *regs)
{
    if (!mpl_is_in_call(regs) || result(regs) != -EINTR || !CONTAINS(interrupted, regs->orig_rax))
        return false;
    regs->rax = (unsigned long long)-RESTART_NO_HANDLER;
    return true;
}

void mpl_call_again(struct user_regs_struct *regs)
{
    if (!mpl_is_in_call(regs) || !is_made_again(regs)) return;
    regs->rax = regs->orig_rax;
    regs->rip -= CALL_BYTES;
}
