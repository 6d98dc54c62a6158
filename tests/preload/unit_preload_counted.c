/* Blocks that are not recorded individually are counted exactly. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/counted.h"
#include "core/threads.h"
#include "real/real.h"
#include "recording.h"
#include "single_steps.h"

enum { BLOCK = 24, OTHER = 1000 };

static struct mp_thread thread;
static uint64_t handled;

/* Runs after each instruction: allocates a block and frees one. */
static void handler(int signal)
{
    (void)signal;
    mp_counted_add_made(&thread, NULL, OTHER);
    mp_counted_add(&thread.freed, OTHER);
    handled++;
}

static __attribute__((noinline)) void count_in_steps(void)
{
    __asm__ volatile(STEPS_BEGIN : : : "cc", "memory");
    mp_counted_add_made(&thread, NULL, BLOCK);
    mp_counted_add(&thread.freed, BLOCK);
    __asm__ volatile(STEPS_END : : : "cc", "memory");
}

static void count(void)
{
    struct sigaction action = { .sa_handler = handler };
    sigaction(SIGTRAP, &action, NULL);
    mp_counted.large = mp_counted.from = UINT32_MAX;
    thread.due = UINT64_MAX;
    count_in_steps();
    const struct mp_totals expected = { BLOCK + handled * OTHER, 1 + handled };
    if (handled < 8) _exit(90);
    if (memcmp(&thread.made, &expected, sizeof expected) != 0) _exit(91);
    if (memcmp(&thread.freed, &expected, sizeof expected) != 0) _exit(92);
}

static void a_handler_at_any_instruction_loses_no_block(void **state)
{
    (void)state;
    if (!STEPS_BEGIN[0]) skip();
    recorded(count);
}

/* ---- bytes before a block */

enum { MADE = 100 };
static size_t calls, result;
static size_t usable_that_is_asked(void *p)
{
    (void)p;
    calls++;
    return result;
}

/* Returns blocks of 72 bytes, in the layout of the C library. */
static size_t ask_for(size_t usable_bytes)
{
    static struct {
        size_t before, head;
        char bytes[72];
    } block = { .head = 80 | 1 };
    calls = 0, result = usable_bytes;
    mp_counted.large = mp_counted.from = UINT32_MAX;
    mp_counted.usable = usable_that_is_asked;
    mp_counted.compared = false;
    mp_counted.plain = UINT32_MAX;
    mp_counted.on = true;
    mp_self->guard = mp_thread_guard();
    mp_self->due = UINT64_MAX;
    mp_self->made = mp_self->freed = (struct mp_totals){ 0 };
    for (int i = 0; i < MADE; i++) mp_counted_freed(mp_counted_made(block.bytes, 72));
    if (mp_self->made.blocks != MADE || mp_self->freed.blocks != MADE) _exit(102);
    if (mp_self->made.bytes != mp_self->freed.bytes) _exit(103);
    return mp_self->made.bytes;
}

static void ask(void)
{
    mp_record_slow(MPF_OP_MARK, MPF_HEAP_NONE, 0, 0); /* creates the thread's record */
    mp_real_frees_libc = true;
    if (ask_for(72) != MADE * 72 || calls != 1) _exit(104);
    if (ask_for(64) != MADE * 64 || calls != 2 * MADE) _exit(105);
    mp_real_frees_libc = false;
    if (ask_for(72) != MADE * 72 || calls != 2 * MADE) _exit(106);
}

static void the_allocator_is_asked_until_the_size_header_is_known(void **state)
{
    (void)state;
    recorded(ask);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_at_any_instruction_loses_no_block),
        cmocka_unit_test(the_allocator_is_asked_until_the_size_header_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
