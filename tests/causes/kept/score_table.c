// cause: holder
// owner: build_table|open_engine
// change: smaller|needed|once|type|uint16|part|reduce|lazily|pack|map
// source: the kind of engines that compute a table of all pairs at start-up
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ITEMS = 5000 };

struct engine {
    double *table;
    char *names[ITEMS];
};

__attribute__((noinline)) static double *build_table(void)
{
    double *table = malloc((size_t)ITEMS * ITEMS * sizeof *table);
    for (long a = 0; a < ITEMS; a++)
        for (long b = 0; b < ITEMS; b++)
            table[a * ITEMS + b] = (double)((a * 31 + b * 17) % 1000) / 1000;
    return table;
}

static void open_engine(struct engine *e)
{
    e->table = build_table();
    for (int i = 0; i < ITEMS; i++) {
        e->names[i] = malloc(200);
        snprintf(e->names[i], 200, "item %d", i);
    }
}

__attribute__((noinline)) static int best_match(struct engine *e, int item)
{
    double *scores = malloc(ITEMS * sizeof *scores);
    int best = 0;
    for (int i = 0; i < ITEMS; i++) scores[i] = e->table[(long)item * ITEMS + i];
    for (int i = 0; i < ITEMS; i++)
        if (scores[i] > scores[best]) best = i;
    free(scores);
    return best;
}

int main(void)
{
    static struct engine e;
    long sum = 0;
    open_engine(&e);
    for (int n = 0; n < 1000; n++) {
        sum += best_match(&e, n * 7 % ITEMS);
        if (n % 5 == 0) usleep(10000);
    }
    printf("%ld\n{\"bytes\": [%zu]}\n", sum, (size_t)ITEMS * ITEMS * sizeof(double));
    return 0;
}
