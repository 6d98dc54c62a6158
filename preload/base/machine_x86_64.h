/* x86-64 (machine.h says what each does). */
#ifndef MP_MACHINE_X86_64_H
#define MP_MACHINE_X86_64_H

#include <stdbool.h>
#include <stdint.h>

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

static inline void mp_machine_stop(void) { __asm__ volatile("hlt"); }
static inline bool mp_machine_tags_memory(void) { return false; }

static inline uint64_t mp_machine_ticks(void) { return __builtin_ia32_rdtsc(); }
static inline uint64_t mp_machine_ticks_per_us(void) { return 3000; }

static inline __attribute__((always_inline)) uint64_t mp_machine_take(uint64_t *word, uint64_t n)
{
    __asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(*word) : : "cc");
    return n;
}

static inline void mp_machine_swap(uint64_t *word, uint64_t *was, uint64_t now)
{
    __asm__ volatile("cmpxchgq %2, %1" : "+a"(*was), "+m"(*word) : "r"(now) : "cc");
}

static inline void mp_machine_add(uint64_t *word, uint64_t n)
{
    __asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(n) : "cc");
}

static inline uintptr_t mp_machine_code(uintptr_t address) { return address; }

static inline void *mp_machine_resolve(void *function) { return ((void *(*)(void))function)(); }

#endif
