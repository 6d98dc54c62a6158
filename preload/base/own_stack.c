#include "base/own_stack.h"

#include <stdint.h>
#include <string.h>

#include "base/machine.h"
#include "base/sys.h"

enum { STACKS = 8, STACK_BYTES = 16 << 10 };

static uint8_t stack[STACKS][STACK_BYTES] __attribute__((aligned(64)));
static uint32_t taken[STACKS];

static int take(void)
{
    int i = 0;
    while (i < STACKS && __atomic_exchange_n(&taken[i], 1, __ATOMIC_ACQUIRE)) i++;
    return i;
}

void mp_own_stack_call(void (*f)(void *), void *arg)
{
    const int i = mp_sys_signals_come || !MP_MACHINE_MAY_SWITCH ? STACKS : take();
    if (i == STACKS) {
        f(arg);
        return;
    }
    mp_machine_call_on(stack[i] + STACK_BYTES, f, arg);
    __atomic_store_n(&taken[i], 0, __ATOMIC_RELEASE);
}

void mp_own_stack_reset(void) { memset(taken, 0, sizeof taken); }
