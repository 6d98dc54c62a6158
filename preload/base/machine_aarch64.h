/* aarch64; machine.h describes each function.
 *
 * Words are changed by load-exclusive and store-exclusive, which every such processor has. If
 * anything comes between, such as a handler, the store fails and is repeated. For newer processors
 * (-mcpu=neoverse-v2) the compiler emits one instruction. */
#ifndef MP_MACHINE_AARCH64_H
#define MP_MACHINE_AARCH64_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define MP_MACHINE_CLOCK "arch_sys_counter"
#define MP_MACHINE_POLL  (-1)

static inline long mp_machine_syscall(long n, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = n;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

/* The new thread starts with the registers of the calling thread, except the stack pointer. So it
 * finds run and arg in two registers that the kernel keeps. */
static inline long mp_machine_clone(unsigned long flags, void *stack, void *tid, void *running,
                                    uintptr_t tp, void (*run)(void *), void *arg)
{
    register long x8 __asm__("x8") = SYS_clone;
    register unsigned long x0 __asm__("x0") = flags;
    register void *x1 __asm__("x1") = stack;
    register void *x2 __asm__("x2") = tid;
    register uintptr_t x3 __asm__("x3") = tp;
    register void *x4 __asm__("x4") = running;
    register void (*x5)(void *) __asm__("x5") = run;
    register void *x6 __asm__("x6") = arg;
    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x30, xzr\n\t"
                     "mov x0, x6\n\t"
                     "blr x5\n\t"
                     "brk #1000\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x6)
                     : "memory");
    return (long)x0;
}

static inline void mp_machine_call_on(void *stack, void (*f)(void *), void *arg)
{
    register void *x0 __asm__("x0") = arg;
    register void *x1 __asm__("x1") = stack;
    register void (*x2)(void *) __asm__("x2") = f;
    __asm__ volatile("mov x19, sp\n\t"
                     "mov sp, %1\n\t"
                     "blr %2\n\t"
                     "mov sp, x19"
                     : "+r"(x0), "+r"(x1), "+r"(x2)
                     :
                     : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
                       "x15", "x16", "x17", "x18", "x19", "x30", "v0", "v1", "v2", "v3", "v4", "v5",
                       "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",
                       "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27",
                       "v28", "v29", "v30", "v31", "cc", "memory");
}

#define MP_MACHINE_VARIABLES_BELOW false

static inline uintptr_t mp_machine_thread_pointer(void)
{
    uintptr_t tp;
    __asm__("mrs %0, tpidr_el0" : "=r"(tp));
    return tp;
}

/* Only dynamic thread-local variables use the words at the thread pointer, and memprof has none. */
static inline void mp_machine_begin_storage(uintptr_t tp) { (void)tp; }

static inline void mp_machine_stop(void) { __asm__ volatile("brk #1000"); }

/* With MTE (glibc.mem.tagging) a block and the word before it have two tags, and a load with the
 * wrong one may fault. */
static inline bool mp_machine_tags_memory(void)
{
    const long control = mp_machine_syscall(SYS_prctl, PR_GET_TAGGED_ADDR_CTRL, 0, 0, 0, 0, 0);
    return control > 0 && (unsigned long)control & PR_MTE_TCF_MASK;
}

/* Without the first barrier the counter may be read before an earlier lock is taken. Without the
 * second one it may be read after a later load. */
static inline uint64_t mp_machine_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
    return ticks;
}
static inline uint64_t mp_machine_ticks_per_us(void)
{
    uint64_t a_second;
    __asm__("mrs %0, cntfrq_el0" : "=r"(a_second));
    return a_second / 1000000;
}

static inline __attribute__((always_inline)) uint64_t mp_machine_take(uint64_t *word, uint64_t n)
{
    return __atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

static inline void mp_machine_swap(uint64_t *word, uint64_t *expected, uint64_t now)
{
    __atomic_compare_exchange_n(word, expected, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static inline void mp_machine_add(uint64_t *word, uint64_t n)
{
    __atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) bool mp_machine_subtract(uint64_t *word, uint64_t n)
{
    return __atomic_fetch_sub(word, n, __ATOMIC_RELAXED) < n;
}

/* Signed addresses (PAC) have the signature in their upper bits, which are 0 in code addresses of a
 * program. */
static inline uintptr_t mp_machine_code(uintptr_t address)
{
    return address & ((UINT64_C(1) << 48) - 1);
}

/* Calls the resolver as the C library's loader does (sys/ifunc.h, since 2.30). */
static inline void *mp_machine_resolve(void *function)
{
    const uint64_t has_more = UINT64_C(1) << 62;
    const struct {
        uint64_t bytes, hwcap, hwcap2;
    } more = { sizeof more, getauxval(AT_HWCAP), getauxval(AT_HWCAP2) };
    return ((void *(*)(uint64_t, const void *))function)(more.hwcap | has_more, &more);
}

#endif
