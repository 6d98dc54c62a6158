/* With an argument it waits. */
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argv;
    return argc > 1 ? pause() : 0;
}
