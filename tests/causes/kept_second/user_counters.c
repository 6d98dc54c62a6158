// clang-format off
// cause: page_tables
// owner: counter|user_counters|page table|main
// change: huge|compact|dense|page table|sparse|hash|MADV_|smaller|contiguous|pack|fewer|reserv
// source: a metrics daemon indexes a reserved array by user number; active users are far apart, so each needs a page of page tables of its own
// clang-format on
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct counter {
    uint64_t requests, bytes, errors, reserved[5];
};

static struct counter *counters;
static const size_t users = 1000000000, active = 26000, apart = 36000;

__attribute__((noinline)) static struct counter *counter_of(size_t user) { return &counters[user]; }

__attribute__((noinline)) static void count_requests(size_t first, size_t last)
{
    for (size_t number = first; number < last; number++) {
        struct counter *counter = counter_of(number * apart);
        counter->requests++;
        counter->bytes += number;
    }
}

int main(void)
{
    size_t size = users * sizeof *counters;
    counters = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    if (counters == MAP_FAILED) return 1;
    madvise(counters, size, MADV_NOHUGEPAGE);
    for (size_t first = 0; first < active; first += 500) {
        count_requests(first, first + 500);
        usleep(40000);
    }
    for (int round = 0; round < 20; round++) {
        count_requests(0, active);
        usleep(80000);
    }
    printf("{\"bytes\": [%zu]}\n", active * 4096);
    return 0;
}
