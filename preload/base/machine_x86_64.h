/* x86-64; machine.h describes each function. */
#ifndef MP_MACHINE_X86_64_H
#define MP_MACHINE_X86_64_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#define MP_MACHINE_CLOCK "tsc"
#define MP_MACHINE_POLL  SYS_poll

static inline long mp_machine_syscall(long n, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* The new thread starts with the registers of the calling thread, except the stack pointer. So it
 * finds run and arg in two registers that the kernel keeps. */
static inline long mp_machine_clone(unsigned long flags, void *stack, void *tid, void *running,
                                    uintptr_t tp, void (*run)(void *), void *arg)
{
    register void *r10 __asm__("r10") = running;
    register uintptr_t r8 __asm__("r8") = tp;
    register void (*r9)(void *) __asm__("r9") = run;
    register void *r12 __asm__("r12") = arg;
    long result = SYS_clone;
    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xorl %%ebp, %%ebp\n\t"
                     "movq %%r12, %%rdi\n\t"
                     "callq *%%r9\n\t"
                     "hlt\n"
                     "1:"
                     : "+a"(result)
                     : "D"(flags), "S"(stack), "d"(tid), "r"(r10), "r"(r8), "r"(r9), "r"(r12)
                     : "rcx", "r11", "memory");
    return result;
}

static inline void mp_machine_call_on(void *stack, void (*f)(void *), void *arg)
{
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %1, %%rsp\n\t"
                     "callq *%2\n\t"
                     "movq %%rbx, %%rsp"
                     : "+D"(arg), "+S"(stack), "+d"(f)
                     :
                     : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2",
                       "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                       "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
}

#define MP_MACHINE_VARIABLES_BELOW true

static inline uintptr_t mp_machine_thread_pointer(void)
{
    uintptr_t tp;
    __asm__("movq %%fs:0, %0" : "=r"(tp));
    return tp;
}

/* The words of tcbhead_t that code reads directly: its own address twice, and the values that stack
 * protectors and mangled pointers use. */
static inline void mp_machine_begin_storage(uintptr_t tp)
{
    enum { TCB = 0, SELF = 2, STACK_GUARD = 5, POINTER_GUARD = 6 };
    uint64_t *const head = (uint64_t *)tp;
    const uint64_t *const current = (const uint64_t *)mp_machine_thread_pointer();
    head[TCB] = head[SELF] = tp;
    head[STACK_GUARD] = current[STACK_GUARD];
    head[POINTER_GUARD] = current[POINTER_GUARD];
}

static inline void mp_machine_stop(void) { __asm__ volatile("hlt"); }
static inline bool mp_machine_tags_memory(void) { return false; }

static inline uint64_t mp_machine_ticks(void) { return __builtin_ia32_rdtsc(); }
static inline uint64_t mp_machine_ticks_per_us(void) { return 3000; }

static inline __attribute__((always_inline)) uint64_t mp_machine_take(uint64_t *word, uint64_t n)
{
    __asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(*word) : : "cc");
    return n;
}

static inline void mp_machine_swap(uint64_t *word, uint64_t *expected, uint64_t now)
{
    __asm__ volatile("cmpxchgq %2, %1" : "+a"(*expected), "+m"(*word) : "r"(now) : "cc");
}

static inline void mp_machine_add(uint64_t *word, uint64_t n)
{
    __asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(n) : "cc");
}

static inline __attribute__((always_inline)) bool mp_machine_subtract(uint64_t *word, uint64_t n)
{
    bool borrows;
    __asm__ volatile("subq %2, %1" : "=@ccb"(borrows), "+m"(*word) : "er"(n));
    return borrows;
}

static inline uintptr_t mp_machine_code(uintptr_t address) { return address; }

static inline void *mp_machine_resolve(void *function) { return ((void *(*)(void))function)(); }

#endif
