/* The unwinder finds the same frames as the C ABI's unwinder at any place of a program. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include <cmocka.h>

#include "emulated.h"
#include "stacks/module.h"
#include "stacks/unwinder.h"
#include "stacks/walk.h"

enum { MAX = MP_UNWIND_MAX };
struct frames {
    uint64_t pc[MAX];
    unsigned count;
};

static _Unwind_Reason_Code add(struct _Unwind_Context *context, void *arg)
{
    struct frames *f = arg;
    const uintptr_t pc = _Unwind_GetIP(context);
    if (!pc || f->count == MAX) return _URC_END_OF_STACK;
    f->pc[f->count++] = pc;
    return _URC_NO_REASON;
}

/* Also checks the walker that keeps earlier walks, if it can start here. All places of this file
 * use the same one. */
static struct mp_walker walker;
static unsigned kept;
static enum mpf_cut cut; /* the reason why the last walk ended */
/* The C library marks a thread's first function as having no caller. */
static bool root_is_marked = true;
static __attribute__((noinline)) unsigned walk(uint64_t *pc)
{
    const struct mp_frame from = mp_frame_of_caller();
    const unsigned n = mp_unwind(&from, pc, mp_module_now(), &cut);
    for (int i = 0; i < 3; i++) {
        struct mp_hash hash;
        if (!mp_walk(&walker, &from, mp_module_now(), &hash)) continue;
        assert_int_equal(mp_hash_id(hash), mp_seen_id(pc, n));
        kept++;
    }
    return n;
}

/* Compares the two from the caller's frame on, because both first have frames inside this
 * function. */
static __attribute__((noinline)) unsigned compare(void)
{
    struct frames walked = { .count = 0 }, reference = { .count = 0 };
    walked.count = walk(walked.pc);
    _Unwind_Backtrace(add, &reference);
    unsigned skip = 0;
    while (skip < reference.count && reference.pc[skip] != (uintptr_t)__builtin_return_address(0))
        skip++;
    unsigned walked_skip = 0;
    while (walked_skip < walked.count &&
           walked.pc[walked_skip] != (uintptr_t)__builtin_return_address(0))
        walked_skip++;
    assert_true(skip < reference.count);
    assert_true(walked_skip < walked.count);
    const unsigned visible = MAX - (skip > walked_skip ? skip : walked_skip);
    const unsigned compared = reference.count - skip < visible ? reference.count - skip : visible;
    assert_true(walked.count - walked_skip >= compared);
    assert_memory_equal(&walked.pc[walked_skip], &reference.pc[skip], compared * sizeof *walked.pc);
    if (reference.count < MAX) assert_int_equal(walked.count - walked_skip, compared);
    if (reference.count == MAX) assert_int_equal(cut, MPF_CUT_DEPTH);
    else if (root_is_marked) assert_int_equal(cut, MPF_CUT_NONE);
    else assert_int_not_equal(cut, MPF_CUT_DEPTH);
    return compared;
}

static __attribute__((noinline)) unsigned nested(unsigned depth)
{
    volatile char local[24];
    local[depth % 24] = 1;
    const unsigned n = depth ? nested(depth - 1) : compare();
    local[0] = local[depth % 24];
    return n;
}

static void stacks_are_right_in_nested_calls(void **state)
{
    (void)state;
    const unsigned shallow = nested(2);
    kept = 0;
    assert_int_equal(nested(12), shallow + 10);
    assert_int_equal(kept, 3);
}

/* One frame at the same address is called by three callers in turn. */
static unsigned (*volatile next)(unsigned) = nested;
static __attribute__((noinline)) unsigned one(unsigned depth) { return next(depth) + 1; }
static __attribute__((noinline)) unsigned two(unsigned depth) { return next(depth) + 2; }
static __attribute__((noinline)) unsigned three(unsigned depth) { return next(depth) + 3; }

static void stacks_are_right_with_alternating_callers(void **state)
{
    (void)state;
    unsigned (*const caller[])(unsigned) = { one, two, three };
    kept = 0;
    for (unsigned i = 0; i < 30; i++) assert_true(caller[i % 2 ? i % 3 : 0](i % 7) > 3);
    assert_int_equal(kept, 90);
}

static void stacks_are_cut_in_a_recursion_deeper_than_the_limit(void **state)
{
    (void)state;
    kept = 0;
    assert_true(nested(1000) > MAX / 2);
    assert_int_equal(kept, 3);
}

static int from_the_c_library(const void *a, const void *b)
{
    assert_true(compare() > 3);
    return memcmp(a, b, sizeof(int));
}

static void stacks_are_right_in_a_callback_of_the_c_library(void **state)
{
    (void)state;
    int values[4] = { 4, 3, 2, 1 };
    qsort(values, 4, sizeof *values, from_the_c_library);
}

static __attribute__((noinline)) unsigned with_alloca(size_t bytes)
{
    volatile char *block = alloca(bytes);
    block[0] = 1;
    const unsigned n = compare();
    return n + (unsigned)block[0] - 1;
}

/* The frame has a larger alignment than the ABI guarantees and a size known only at run time, so
 * the unwinder must use a saved pointer. */
static __attribute__((noinline)) unsigned with_alignment(size_t bytes)
{
    volatile char aligned[64] __attribute__((aligned(64)));
    volatile char *block = alloca(bytes);
    aligned[0] = block[0] = 1;
    const unsigned n = with_alloca(bytes + 8);
    return n + (unsigned)aligned[0] - (unsigned)block[0];
}

static void stacks_are_right_in_unusual_frames(void **state)
{
    (void)state;
    assert_true(with_alloca(100) > 3);
    assert_true(with_alignment(333) > 3);
}

static void *in_thread(void *arg)
{
    *(unsigned *)arg = nested(5);
    return NULL;
}

static void stacks_are_right_in_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        unsigned n = 0;
        assert_int_equal(pthread_create(&thread, NULL, in_thread, &n), 0);
        pthread_join(thread, NULL);
        assert_true(n >= 7);
    }
}

static volatile unsigned handled;
static void handler(int signal)
{
    (void)signal;
    handled = nested(3);
}

static __attribute__((noinline)) void raise_below(unsigned depth)
{
    volatile char local[40];
    local[depth % 40] = 1;
    if (depth) raise_below(depth - 1);
    else raise(SIGUSR1);
    local[0] = local[depth % 40];
}

static void stacks_are_right_in_signal_handlers(void **state)
{
    (void)state;
    if (emulator_lacks("process_vm_readv")) skip();
    static char other[64 << 10];
    const stack_t stack = { .ss_sp = other, .ss_size = sizeof other };
    for (int flags = 0; flags <= SA_ONSTACK; flags += SA_ONSTACK) {
        struct sigaction action = { .sa_handler = handler, .sa_flags = flags }, before;
        assert_int_equal(sigaltstack(&stack, NULL), 0);
        assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
        handled = 0;
        raise_below(4);
        sigaction(SIGUSR1, &before, NULL);
        assert_true(handled >= 4);
    }
}

static ucontext_t here, there;
static volatile unsigned in_coroutine;
static void coroutine(void)
{
    root_is_marked = false;
    in_coroutine = nested(4);
    root_is_marked = true;
}

static void stacks_are_right_in_coroutines(void **state)
{
    (void)state;
    enum { BYTES = 256 << 10 };
    for (int i = 0; i < 3; i++) {
        char *stack = malloc(BYTES);
        assert_int_equal(getcontext(&there), 0);
        there.uc_stack.ss_sp = stack;
        there.uc_stack.ss_size = BYTES;
        there.uc_link = &here;
        makecontext(&there, coroutine, 0);
        swapcontext(&here, &there);
        assert_true(in_coroutine >= 5);
        free(stack);
    }
}

/* A function without call frame information and with an unusual frame: the walk ends, and the test
 * continues. */
static void stacks_end_at_code_without_frame_information(void **state)
{
    (void)state;
    uint64_t pc[MP_UNWIND_MAX];
    unsigned n = 0;
#if defined(__x86_64__)
    static const unsigned char code[] = {
        0x55,                                     /* push %rbp */
        0x48, 0xc7, 0xc5, 0xff, 0xff, 0xff, 0xff, /* mov $-1, %rbp */
        0x41, 0xff, 0xd0,                         /* call *%r8 */
        0x5d, 0xc3,                               /* pop %rbp; ret */
    };
#elif defined(__aarch64__)
    static const uint32_t code[] = {
        0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
        0x9280001d, /* mov x29, #-1 */
        0xd63f0080, /* blr x4 */
        0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
        0xd65f03c0, /* ret */
    };
#endif
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    __builtin___clear_cache(page, (char *)page + sizeof code);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    unsigned (*in_page)(uint64_t *, void *, void *, void *, void *) = (__typeof__(in_page))page;
    n = in_page(pc, NULL, NULL, NULL, (void *)walk);
    assert_true(n <= 1);
    munmap(page, 4096);
}

/* Code of a JIT without call frame information. Its frame record is that of its caller or another
 * one. */
#if defined(__x86_64__)
static unsigned below_record(uint64_t *pc, const uintptr_t *record)
{
    static const unsigned char code[] = {
        0x55,                   /* push %rbp */
        0x48, 0x89, 0xe5,       /* mov %rsp, %rbp */
        0x48, 0x85, 0xf6,       /* test %rsi, %rsi */
        0x48, 0x0f, 0x45, 0xee, /* cmovne %rsi, %rbp */
        0x41, 0xff, 0xd0,       /* call *%r8 */
        0x5d, 0xc3,             /* pop %rbp; ret */
    };
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    unsigned (*jit)(uint64_t *, const uintptr_t *, void *, void *, void *) = (__typeof__(jit))page;
    const unsigned n = jit(pc, record, NULL, NULL, (void *)walk);
    assert_true(n && pc[0] - (uintptr_t)page < sizeof code);
    munmap(page, 4096);
    return n;
}
#endif

static void stacks_pass_through_code_with_a_frame_record(void **state)
{
    (void)state;
#if defined(__x86_64__)
    uint64_t pc[MP_UNWIND_MAX];
    static const char text[] = "no call is here";
    const uintptr_t first[] = { 0, 0 }, no_code[] = { 0, (uintptr_t)text + 10 };
    const unsigned direct = compare();
    assert_int_equal(below_record(pc, NULL), direct + 2);
    assert_int_equal(cut, MPF_CUT_NONE);
    assert_int_equal(below_record(pc, first), 1);
    assert_int_equal(cut, MPF_CUT_NONE);
    assert_int_equal(below_record(pc, no_code), 1);
    assert_int_equal(cut, MPF_CUT_LOST);
#else
    skip();
#endif
}

static int set_up(void **state)
{
    (void)state;
    return mp_module_init() && mp_unwind_init() ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_are_right_in_nested_calls),
        cmocka_unit_test(stacks_are_right_with_alternating_callers),
        cmocka_unit_test(stacks_are_cut_in_a_recursion_deeper_than_the_limit),
        cmocka_unit_test(stacks_are_right_in_a_callback_of_the_c_library),
        cmocka_unit_test(stacks_are_right_in_unusual_frames),
        cmocka_unit_test(stacks_are_right_in_threads),
        cmocka_unit_test(stacks_are_right_in_signal_handlers),
        cmocka_unit_test(stacks_are_right_in_coroutines),
        cmocka_unit_test(stacks_end_at_code_without_frame_information),
        cmocka_unit_test(stacks_pass_through_code_with_a_frame_record),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
