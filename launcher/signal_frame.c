/* Layout from the thread's stack pointer downwards: the red zone, the data of the call, the
 * floating-point state, and the frame. The function's own stack is below. */
#include "signal_frame.h"

#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "restart.h"

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif
#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

enum {
    RED_ZONE = 128,
    STATE_MAX = 16 << 10, /* bytes of the floating-point state */
    SOFTWARE_BYTES = 464, /* where the kernel describes the state, in the state's first 512 bytes */
    MAGIC_1 = 0x46505853, /* FP_XSTATE_MAGIC1 and 2: the state is complete */
    MAGIC_2 = 0x46505845,
    ROOM = 128 << 10 /* that dlopen and the library may need */
};

/* struct rt_sigframe of the kernel. */
struct signal_frame {
    uint64_t restorer;
    uint64_t flags, link;
    struct {
        uint64_t stack;
        uint32_t flags, unused;
        uint64_t bytes;
    } alternate;
    struct {
        uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
            eflags;
        uint16_t cs, gs, fs, ss;
        uint64_t error, trap, old_mask, fault, state, reserved[8];
    } registers;
    uint64_t mask;
    uint8_t information[128];
};
_Static_assert(sizeof(struct signal_frame) == 440, "as in the kernel");

/* The kernel's description of a floating-point state in a frame. */
struct software_bytes {
    uint32_t magic, bytes_with_magic;
    uint64_t features;
    uint32_t bytes, unused[7];
};
_Static_assert(sizeof(struct software_bytes) == 48, "as in the kernel");

struct state {
    uint8_t byte[STATE_MAX + sizeof(uint32_t)];
    size_t bytes;
};

/* A state that ptrace returns has the processor's features where a frame has their description. */
static bool read_state(pid_t thread, struct state *out)
{
    struct software_bytes software = { .magic = MAGIC_1 };
    struct iovec part = { out->byte, STATE_MAX };
    const uint32_t end = MAGIC_2;
    if (ptrace(PTRACE_GETREGSET, thread, (void *)NT_X86_XSTATE, &part) != 0 ||
        part.iov_len < SOFTWARE_BYTES + sizeof software + 64 || part.iov_len >= STATE_MAX)
        return false;
    out->bytes = part.iov_len;
    memcpy(&software.features, out->byte + SOFTWARE_BYTES, sizeof software.features);
    software.bytes = (uint32_t)out->bytes;
    software.bytes_with_magic = (uint32_t)(out->bytes + sizeof end);
    memcpy(out->byte + SOFTWARE_BYTES, &software, sizeof software);
    memcpy(out->byte + out->bytes, &end, sizeof end);
    out->bytes += sizeof end;
    return true;
}

/* An alternate signal stack that is not valid leaves the thread's as it is. */
static struct signal_frame frame_of(struct user_regs_struct r, uint64_t mask, uintptr_t restorer,
                                    uintptr_t state)
{
    enum { HAS_STATE = 1, HAS_SS = 2, STRICT_SS = 4, NOT_VALID = 0xff };
    mpl_call_again(&r);
    return (struct signal_frame){
        .restorer = restorer,
        .flags = HAS_STATE | HAS_SS | STRICT_SS,
        .alternate.flags = NOT_VALID,
        .registers = { .r8 = r.r8,
                       .r9 = r.r9,
                       .r10 = r.r10,
                       .r11 = r.r11,
                       .r12 = r.r12,
                       .r13 = r.r13,
                       .r14 = r.r14,
                       .r15 = r.r15,
                       .rdi = r.rdi,
                       .rsi = r.rsi,
                       .rbp = r.rbp,
                       .rbx = r.rbx,
                       .rdx = r.rdx,
                       .rax = r.rax,
                       .rcx = r.rcx,
                       .rsp = r.rsp,
                       .rip = r.rip,
                       .eflags = r.eflags,
                       .cs = (uint16_t)r.cs,
                       .ss = (uint16_t)r.ss,
                       .state = state },
        .mask = mask,
    };
}

/* Signals that a fault of the function would send stay deliverable, so that a fault ends the
 * process as any other fault would. */
static uint64_t faults_only(void)
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
    uint64_t mask = ~UINT64_C(0);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        mask &= ~(UINT64_C(1) << (faults[i] - 1));
    return mask;
}

static uintptr_t down(uintptr_t at, size_t alignment) { return at & -(uintptr_t)alignment; }

/* The mask is changed last: this program may be killed at any time, and only the return from the
 * call restores it. At a function's first instruction the stack pointer is 8 above a multiple
 * of 16. */
bool mpl_signal_frame(const struct mpl_safety *s, pid_t thread, const struct user_regs_struct *now,
                      const struct mpl_call *call)
{
    static struct state state;
    uint64_t mask;
    if (!read_state(thread, &state) ||
        ptrace(PTRACE_GETSIGMASK, thread, (void *)sizeof mask, &mask) != 0)
        return false;
    const uintptr_t data_at = down(now->rsp - RED_ZONE - call->bytes, 64),
                    state_at = down(data_at - state.bytes, 64),
                    frame_at = down(state_at - sizeof(struct signal_frame), 16) - 8;
    if (mpl_remote_stack_room(s->process, now->rsp) < now->rsp - frame_at + ROOM) return false;
    const struct signal_frame frame = frame_of(*now, mask, s->restorer, state_at);
    if (!mpl_remote_put(s->process, data_at, call->data, call->bytes) ||
        !mpl_remote_put(s->process, state_at, state.byte, state.bytes) ||
        !mpl_remote_put(s->process, frame_at, &frame, sizeof frame))
        return false;
    enum { DIRECTION = 0x400, TRAP = 0x100 };
    struct user_regs_struct r = *now;
    r.rip = call->function;
    r.rsp = frame_at;
    r.rdi = data_at;
    r.rsi = call->second;
    r.rax = 0;
    r.orig_rax = (unsigned long long)-1; /* no call is repeated */
    r.eflags &= ~(unsigned long long)(DIRECTION | TRAP);
    const uint64_t blocked = faults_only();
    if (ptrace(PTRACE_SETREGS, thread, NULL, &r) != 0) return false;
    ptrace(PTRACE_SETSIGMASK, thread, (void *)sizeof blocked, &blocked);
    return true;
}
