// cause: growth
// owner: record_event|reserve|traced_call
// change: flush|bound|limit|free|ring|keeps|write|evict
// source: the kind of tracers that keep all events until the end of the program
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct event {
    long time, thread;
    char name[48];
};

static struct {
    struct event *data;
    size_t used, capacity;
} events;

__attribute__((noinline)) static void reserve(size_t count)
{
    if (count <= events.capacity) return;
    events.capacity += 16384;
    events.data = realloc(events.data, events.capacity * sizeof *events.data);
}

__attribute__((noinline)) static void record_event(long time, const char *name)
{
    reserve(events.used + 1);
    struct event *e = &events.data[events.used++];
    e->time = time;
    e->thread = 1;
    snprintf(e->name, sizeof e->name, "%s", name);
}

__attribute__((noinline)) static double traced_call(long time)
{
    double sum = 0;
    record_event(time, "begin solve");
    for (int i = 0; i < 2000; i++) sum += (double)(i ^ time) / (i + 1);
    record_event(time + 1, "end solve");
    return sum;
}

int main(void)
{
    double sum = 0;
    for (long n = 0; n < 800000; n++) {
        sum += traced_call(2 * n);
        if (n % 8000 == 0) usleep(10000);
    }
    size_t size = events.capacity * sizeof *events.data;
    FILE *out = fopen("/dev/null", "wb");
    fwrite(events.data, sizeof *events.data, events.used, out);
    fclose(out);
    free(events.data);
    printf("%g\n{\"bytes\": [%zu, %zu]}\n", sum, size, events.used * sizeof *events.data);
    return 0;
}
