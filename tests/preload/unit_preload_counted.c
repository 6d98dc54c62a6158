/* Counters of blocks that are not recorded each. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/counted.h"
#include "recording.h"

/* The flags word's bit that makes the processor stop after each instruction. */
#define TRAP "$0x100"

enum { BLOCK = 24, OTHER = 1000 };

static struct mp_thread thread;
static uint64_t handled;

/* After each instruction: a block is made and one is freed. */
static void handler(int signal)
{
    (void)signal;
    mp_counted_add_made(&thread, NULL, OTHER);
    mp_counted_add(&thread.freed, OTHER);
    handled++;
}

static __attribute__((noinline)) void count_in_steps(void)
{
    __asm__ volatile("pushfq; orq " TRAP ", (%%rsp); popfq" : : : "cc", "memory");
    mp_counted_add_made(&thread, NULL, BLOCK);
    mp_counted_add(&thread.freed, BLOCK);
    __asm__ volatile("pushfq; xorq " TRAP ", (%%rsp); popfq" : : : "cc", "memory");
}

static void count(void)
{
    struct sigaction action = { .sa_handler = handler };
    sigaction(SIGTRAP, &action, NULL);
    mp_counted.large = UINT32_MAX;
    thread.due = UINT64_MAX;
    count_in_steps();
    const struct mp_totals expected = { BLOCK + handled * OTHER, 1 + handled };
    if (handled < 8) _exit(90);
    if (memcmp(&thread.made, &expected, sizeof expected) != 0) _exit(91);
    if (memcmp(&thread.freed, &expected, sizeof expected) != 0) _exit(92);
}

static void a_handler_that_comes_between_loses_nothing(void **state)
{
    (void)state;
    recorded(count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_that_comes_between_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
