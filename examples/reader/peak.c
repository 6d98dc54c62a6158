/* peak LOG: prints the peak of each heap of a recorded process with its time, and the number of
 * events of each kind. */
#include <inttypes.h>
#include <mpr/stream.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    uint64_t events[256] = { 0 };
    const struct mpf_event *event;
    struct mpr_stream *log = mpr_stream_open(argv[1]);
    long count;
    while ((count = mpr_stream_next(log, &event)) > 0)
        for (long i = 0; i < count; i++) events[event[i].op]++;
    if (count < 0) fprintf(stderr, "%s\n", mpr_stream_error(log));

    struct mpr_stream_heap heap[64];
    const size_t heaps = mpr_stream_heaps(log, heap, sizeof heap / sizeof *heap);
    for (size_t i = 0; i < heaps && i < sizeof heap / sizeof *heap; i++)
        printf("%s %" PRIu64 " bytes at %" PRIu64 " ns\n", heap[i].name, heap[i].peak_bytes,
               heap[i].peak_ns);
    for (unsigned op = 0; op < 256; op++)
        if (events[op] && mpf_op_name(op)) printf("%s %" PRIu64 "\n", mpf_op_name(op), events[op]);
    if (!mpr_stream_whole(log)) printf("something is missing\n");
    mpr_stream_close(log);
    return count < 0;
}
