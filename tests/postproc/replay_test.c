#include "replay_test.h"

struct mpr_replay replay;
uint64_t now;

void begin_with(struct mpr_replay_options options)
{
    now = 1000000;
    mpr_replay_init(&replay, &options);
}

void begin(void)
{
    begin_with((struct mpr_replay_options){ .by = MPR_GROUP_RANGE, .at = MPR_INSTANT_PEAK });
}

static void feed(const struct mpf_event *e) { mpr_replay_batch(&replay, e, 1); }

void event_at(uint64_t time, uint32_t thread, unsigned op, unsigned heap, uint64_t addr,
              uint64_t size)
{
    feed(&(struct mpf_event){ .time = time,
                              .addr = addr,
                              .size = size,
                              .thread = thread,
                              .op = (uint8_t)op,
                              .heap = (uint8_t)heap });
}

void event(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, uint64_t size)
{
    now += 1000000;
    event_at(now, thread, op, heap, addr, size);
}

void data(uint32_t thread, unsigned op, unsigned heap, uint64_t addr, const void *bytes,
          size_t count)
{
    now += 1000000;
    feed(&(struct mpf_event){ .time = now,
                              .addr = addr,
                              .size = count,
                              .data = bytes,
                              .thread = thread,
                              .op = (uint8_t)op,
                              .heap = (uint8_t)heap });
}

static uint64_t sum_at_peak(unsigned code)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < replay.accounts.cells; i++) {
        if (replay.accounts.cell[i].heap == code)
            sum += mpr_accounts_at_peak(&replay.accounts, &replay.accounts.cell[i]).bytes;
    }
    return sum;
}

void end(void)
{
    mpr_replay_finish(&replay);
    for (unsigned i = 0; i < MPR_HEAPS; i++) assert_int_equal(sum_at_peak(i), heap(i)->peak_bytes);
}

void end_replay(void)
{
    end();
    mpr_replay_free(&replay);
}

static uint64_t chance;
void pick_from(uint64_t seed) { chance = seed; }
unsigned pick(unsigned n)
{
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(chance >> 33) % n;
}
