// clang-format off
// cause: growth
// owner: take_buffer|receive|give_buffer
// change: reuse|size class|round|pool|bound|limit|free|releas|keep|kept|evict|hold|clear|drop|cap
// source: a message broker pools its buffers by exact size; messages hardly ever have the same size again, so no buffer is used twice
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct buffer {
    struct buffer *next;
    size_t size;
    char data[];
};

static struct buffer *idle[1024];

__attribute__((noinline)) static struct buffer *take_buffer(size_t size)
{
    for (struct buffer **at = &idle[size % 1024]; *at != NULL; at = &(*at)->next) {
        if ((*at)->size == size) {
            struct buffer *found = *at;
            *at = found->next;
            return found;
        }
    }
    struct buffer *fresh = malloc(sizeof *fresh + size);
    if (fresh == NULL) exit(1);
    fresh->size = size;
    return fresh;
}

__attribute__((noinline)) static void give_buffer(struct buffer *buffer)
{
    struct buffer **list = &idle[buffer->size % 1024];
    buffer->next = *list;
    *list = buffer;
}

__attribute__((noinline)) static unsigned receive(unsigned number, size_t *total)
{
    size_t size = 16384 + number * 7919u % 65536;
    struct buffer *message = take_buffer(size);
    memset(message->data, (int)(number % 250) + 1, size);
    unsigned sum = 0;
    for (size_t i = 0; i < size; i += 64) sum += (unsigned char)message->data[i];
    *total += size;
    give_buffer(message);
    return sum;
}

int main(void)
{
    size_t total = 0;
    unsigned sum = 0;
    for (unsigned number = 0; number < 5000; number++) {
        sum += receive(number, &total);
        usleep(900);
    }
    printf("checksum %u\n{\"bytes\": [%zu]}\n", sum, total);
    return 0;
}
