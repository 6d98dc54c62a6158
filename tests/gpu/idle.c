/* Holds a device's memory until its standard input ends. */
#include <unistd.h>

#include "steps.h"

int main(void)
{
    char end;
    steps_start();
    steps_alloc(64 * MIB);
    return read(STDIN_FILENO, &end, 1) == 0 ? 0 : 1;
}
