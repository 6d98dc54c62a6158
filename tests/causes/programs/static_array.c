// cause: static_data
// owner: bss|grid|data
// change: static|array
// source: the kind of Fortran programs
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char grid[300 << 20];

int main(void)
{
    memset(grid, 1, sizeof grid);
    sleep(2);
    printf("{\"bytes\": [%zu]}\n", sizeof grid);
    return grid[7] - 1;
}
