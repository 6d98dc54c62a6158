#include "own_log.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "life.h"
#include "mpf/slot.h"

uint64_t own_start(pid_t pid)
{
    char path[32], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    line[fread(line, 1, sizeof line - 1, file)] = 0;
    fclose(file);
    const char *at = strrchr(line, ')');
    for (int field = 2; field < 22; field++) at = strchr(at + 1, ' ');
    return strtoull(at + 1, NULL, 10);
}

void own_pairs_fill(struct own_pairs *own, pid_t pid, uint64_t started, const char *real,
                    const char *journal)
{
    struct mpf_identity here;
    mpr_life_own_identity(&here);
    for (int i = 0; i < 16; i++) snprintf(own->boot + 2 * i, 3, "%02x", here.boot[i]);
    const uint64_t number[] = { (uint64_t)pid, here.pidns, here.timens, started };
    for (int i = 0; i < 4; i++)
        snprintf(own->number[i], sizeof own->number[i], "%" PRIu64, number[i]);
    const char *const pair[] = { "boot",    own->boot,      "pid",        own->number[0],
                                 "pidns",   own->number[1], "timens",     own->number[2],
                                 "started", own->number[3], "start.real", real,
                                 "journal", journal,        NULL };
    memcpy(own->pair, pair, sizeof pair);
}

void own_journal_unlocked(const char *journal)
{
    FILE *file = fopen(journal, "r+");
    assert_non_null(file);
    fseek(file, offsetof(struct mpf_journal, flags), SEEK_SET);
    fwrite("\0\0\0", 1, 4, file);
    fclose(file);
}
