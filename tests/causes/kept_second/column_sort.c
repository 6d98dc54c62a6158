// clang-format off
// cause: temporaries
// owner: sort_column|merge_pass|scratch
// change: reuse|in place|pieces|chunk|smaller|once|stream|block|keep one|preallocat|batch|split|fewer
// source: an analytics engine sorts columns by merging, and allocates scratch memory for keys and row numbers of the whole column each time
// clang-format on
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 12000000, COLUMNS = 10 };

struct entry {
    uint64_t key;
    uint64_t row;
};

__attribute__((noinline)) static void load_column(uint64_t *column, uint64_t seed)
{
    for (size_t i = 0; i < ROWS; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        // Each half is sorted already, as two sorted runs from disk are.
        column[i] = (i % (ROWS / 2)) * 1000 + (seed >> 33) % 1000;
    }
}

__attribute__((noinline)) static uint64_t sort_column(uint64_t *column)
{
    struct entry *scratch = malloc(sizeof *scratch * ROWS);
    if (scratch == NULL) exit(1);
    size_t left = 0, right = ROWS / 2;
    for (size_t i = 0; i < ROWS; i++) {
        int from_left = right == ROWS || (left < ROWS / 2 && column[left] <= column[right]);
        size_t row = from_left ? left++ : right++;
        scratch[i] = (struct entry){ column[row], row };
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < ROWS; i++) {
        column[i] = scratch[i].key;
        sum += scratch[i].row * (i & 7);
    }
    free(scratch);
    return sum;
}

int main(void)
{
    uint64_t *column = malloc(sizeof *column * ROWS), sum = 0;
    if (column == NULL) return 1;
    for (int number = 0; number < COLUMNS; number++) {
        load_column(column, (uint64_t)number + 1);
        sum += sort_column(column);
        usleep(200000);
    }
    free(column);
    printf("checksum %llu\n{\"bytes\": [%zu]}\n", (unsigned long long)sum,
           sizeof(struct entry) * ROWS);
    return 0;
}
