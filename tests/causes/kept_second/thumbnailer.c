// clang-format off
// cause: retention
// owner: read_scan|scan_album|scan
// change: malloc_trim|trim|MALLOC_|M_MMAP_THRESHOLD|mmap|arena|jemalloc|allocator|tcmalloc|mimalloc
// source: after its first large free, malloc serves scans of 8 MiB from the heap; small records between them keep all of it resident
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCANS = 36, SCAN = 8 << 20 };

struct record {
    int number;
    unsigned sum;
    char title[184];
};

__attribute__((noinline)) static unsigned char *read_scan(int number, size_t size)
{
    unsigned char *scan = malloc(size);
    if (scan == NULL) exit(1);
    memset(scan, number + 1, size);
    return scan;
}

__attribute__((noinline)) static struct record *make_record(int number, const unsigned char *scan)
{
    struct record *record = malloc(sizeof *record);
    if (record == NULL) exit(1);
    record->number = number;
    record->sum = 0;
    for (size_t i = 0; i < SCAN; i += 4096) record->sum += scan[i];
    snprintf(record->title, sizeof record->title, "scan %d", number);
    return record;
}

__attribute__((noinline)) static unsigned scan_album(struct record **records)
{
    unsigned char *scans[SCANS];
    unsigned sum = 0;
    for (int i = 0; i < SCANS; i++) {
        scans[i] = read_scan(i, SCAN);
        records[i] = make_record(i, scans[i]);
        sum += records[i]->sum;
        usleep(40000);
    }
    for (int i = 0; i < SCANS; i++) free(scans[i]);
    return sum;
}

int main(void)
{
    static struct record *records[SCANS];
    free(read_scan(0, 30 << 20)); // the cover, in full resolution
    unsigned sum = scan_album(records);
    sleep(3);
    printf("checksum %u of %s\n{\"bytes\": [%zu]}\n", sum, records[SCANS - 1]->title,
           (size_t)SCANS * SCAN);
    return 0;
}
