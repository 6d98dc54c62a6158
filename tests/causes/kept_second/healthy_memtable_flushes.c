// clang-format off
// cause: none
// source: a healthy program: a storage engine that gathers writes up to 40 MB, writes them out, and frees all of them, five times
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITES = 10000, FLUSHES = 5 };

struct entry {
    struct entry *next;
    unsigned key;
    char value[4000];
};

static struct entry *memtable;

__attribute__((noinline)) static void put(unsigned key)
{
    struct entry *entry = malloc(sizeof *entry);
    if (entry == NULL) exit(1);
    entry->key = key;
    memset(entry->value, (int)(key % 200) + 1, sizeof entry->value);
    entry->next = memtable;
    memtable = entry;
}

__attribute__((noinline)) static void flush_memtable(FILE *table)
{
    while (memtable != NULL) {
        struct entry *entry = memtable;
        memtable = entry->next;
        fwrite(entry->value, sizeof entry->value, 1, table);
        free(entry);
    }
}

int main(void)
{
    FILE *table = fopen("/dev/null", "w");
    if (table == NULL) return 1;
    for (unsigned flush = 0; flush < FLUSHES; flush++) {
        for (unsigned i = 0; i < WRITES; i++) {
            put(flush * WRITES + i);
            if (i % 100 == 0) usleep(10000);
        }
        flush_memtable(table);
    }
    fclose(table);
    puts("{\"bytes\": []}");
    return 0;
}
