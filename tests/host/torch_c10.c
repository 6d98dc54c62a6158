/* A stand-in for libc10.so: the functions that memprof interposes, and how often they were still
 * called. */
#include <stdbool.h>
#include <stdint.h>

bool _ZN3c1022memoryProfilingEnabledEv(void);
void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *block, int64_t bytes,
                                                           uint64_t allocated, uint64_t reserved,
                                                           uint64_t device);
unsigned asked(void);
unsigned reported(void);

static unsigned questions, reports;

bool _ZN3c1022memoryProfilingEnabledEv(void) { return ++questions; }

void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *block, int64_t bytes,
                                                           uint64_t allocated, uint64_t reserved,
                                                           uint64_t device)
{
    reports += block && bytes && allocated && reserved && device;
}

unsigned asked(void) { return questions; }
unsigned reported(void) { return reports; }
