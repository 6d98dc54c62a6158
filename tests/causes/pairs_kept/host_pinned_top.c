// changed: the summary is allocated after the rows, so it keeps the top of the heap
// cause: retention
// owner: (?i)parse|read_row|load|import|malloc|glibc|heap|free
// change: (?i)malloc_trim|trim|arena|MALLOC_|order|jemalloc|tcmalloc|allocat|fragment|mmap
// larger: after
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 150000, SUMMARY = 4000 };

struct summary {
    long rows, bytes;
    char text[SUMMARY];
};

struct row {
    size_t length;
    char text[];
};

static struct row *rows[ROWS];

static size_t row_length(int n) { return 400 + (n * 7919u) % 801; }

static struct row *read_row(int n)
{
    size_t length = row_length(n);
    struct row *row = malloc(sizeof *row + length);
    row->length = length;
    memset(row->text, 'a' + n % 26, length);
    return row;
}

static struct summary *new_summary(void) { return calloc(1, sizeof(struct summary)); }

static struct summary *import_table(int late)
{
    struct summary *summary = late ? NULL : new_summary();
    for (int n = 0; n < ROWS; n++) rows[n] = read_row(n);
    if (!summary) summary = new_summary();
    for (int n = 0; n < ROWS; n++) {
        summary->rows++;
        summary->bytes += (long)rows[n]->length;
    }
    snprintf(summary->text, SUMMARY, "%ld rows with %ld bytes", summary->rows, summary->bytes);
    for (int n = 0; n < ROWS; n++) free(rows[n]);
    return summary;
}

static long resident(void)
{
    long size = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &size, &pages) != 2) return -1;
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static void serve(const struct summary *summary, int requests)
{
    char answer[SUMMARY + 32];
    for (int n = 0; n < requests; n++) {
        char *copy = malloc(300000); // of its own mapping
        if (!copy) exit(1);
        memset(copy, n, 300000);
        snprintf(answer, sizeof answer, "%d: %s", n, summary->text);
        free(copy);
        usleep(10000);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    struct summary *summary = import_table(strcmp(argv[1], "after") == 0);
    serve(summary, 150);
    fprintf(stderr, "%s, resident %ld, free in the heap %zu\n", summary->text, resident(),
            mallinfo2().fordblks);
    long requested = 0, chunks = 0;
    for (int n = 0; n < ROWS; n++) {
        size_t size = sizeof(struct row) + row_length(n);
        requested += (long)size;
        chunks += (long)((size + sizeof(size_t) + 15) / 16 * 16);
    }
    printf("{\"bytes\": [%ld, %ld]}\n", requested, chunks);
    return 0;
}
