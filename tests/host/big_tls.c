/* `big_tls`: a program with 2.5 MiB of static thread-local storage allocates blocks, and then waits
 * until its standard input ends. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static __thread volatile char storage[5 << 19];

int main(void)
{
    static void *volatile sink;
    char end;
    storage[0] = 1;
    for (int i = 0; i < 20000; i++) free(sink = malloc(100));
    puts("done");
    fflush(stdout);
    return read(STDIN_FILENO, &end, 1) == 0 ? 0 : 1;
}
