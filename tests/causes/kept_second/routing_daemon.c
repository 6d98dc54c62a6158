// clang-format off
// cause: static_data
// owner: routing_daemon|static|next_hop|long_prefix|bss
// change: static|array|smaller|global|alloc|compact|bss|data|demand|size|heap
// source: a routing daemon with static tables for every possible prefix, all of which it fills at the start with the default route
// clang-format on
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { SHORT = 1 << 24, LONG = 1 << 16, HOSTS = 256 };

static uint32_t next_hop[SHORT];
static uint64_t long_prefix[LONG][HOSTS];

__attribute__((noinline)) static void set_default_route(uint32_t gateway)
{
    for (size_t i = 0; i < SHORT; i++) next_hop[i] = gateway;
    for (size_t i = 0; i < LONG; i++)
        for (size_t host = 0; host < HOSTS; host++) long_prefix[i][host] = gateway;
}

__attribute__((noinline)) static void learn(uint32_t number)
{
    uint32_t prefix = number * 2654435761u >> 8;
    if (number % 8 == 0) {
        next_hop[prefix] = 0x80000000u | number % LONG;
        long_prefix[number % LONG][number % HOSTS] = number;
    } else next_hop[prefix] = number;
}

__attribute__((noinline)) static uint64_t look_up(uint32_t address)
{
    uint32_t hop = next_hop[address >> 8];
    return hop & 0x80000000u ? long_prefix[hop % LONG][address % HOSTS] : hop;
}

int main(void)
{
    uint64_t sum = 0;
    set_default_route(1);
    for (uint32_t round = 0; round < 50; round++) {
        for (uint32_t i = 0; i < 20000; i++) learn(round * 20000 + i);
        for (uint32_t i = 0; i < 200000; i++) sum += look_up(i * 2246822519u + round);
        usleep(60000);
    }
    printf("checksum %llu\n{\"bytes\": [%zu]}\n", (unsigned long long)sum,
           sizeof next_hop + sizeof long_prefix);
    return 0;
}
