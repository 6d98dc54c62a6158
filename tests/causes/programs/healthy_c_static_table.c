// cause: none
// source: a healthy program; nearly: static_data
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char lookup_table[56 << 20];

int main(void)
{
    memset(lookup_table, 1, sizeof lookup_table);
    sleep(2);
    printf("{\"bytes\": [0]}\n");
    return lookup_table[7] - 1;
}
