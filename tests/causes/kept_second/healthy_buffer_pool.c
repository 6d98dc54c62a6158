// clang-format off
// cause: none
// source: a healthy program: a database's page cache of 96 MB that fills at first and then replaces pages by the clock algorithm
// clang-format on
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES = 12000, PAGE = 8192, PAGES = 40000, READS = 60000 };

struct frame {
    uint32_t page;
    int used;
    unsigned char *data;
};

static struct frame frames[FRAMES];
static int frame_of[PAGES], filled, hand;

__attribute__((noinline)) static int free_frame(void)
{
    if (filled < FRAMES) {
        frames[filled].data = malloc(PAGE);
        if (frames[filled].data == NULL) exit(1);
        return filled++;
    }
    while (frames[hand].used) {
        frames[hand].used = 0;
        hand = (hand + 1) % FRAMES;
    }
    frame_of[frames[hand].page] = -1;
    return hand;
}

__attribute__((noinline)) static const unsigned char *read_page(uint32_t page)
{
    if (frame_of[page] < 0) {
        int number = free_frame();
        memset(frames[number].data, (int)(page % 251) + 1, PAGE);
        frames[number].page = page;
        frame_of[page] = number;
    }
    frames[frame_of[page]].used = 1;
    return frames[frame_of[page]].data;
}

int main(void)
{
    uint32_t state = 7;
    unsigned sum = 0;
    for (int i = 0; i < PAGES; i++) frame_of[i] = -1;
    for (int read = 0; read < READS; read++) {
        state = state * 1664525u + 1013904223u;
        sum += read_page((state >> 8) % PAGES)[read % PAGE];
        if (read % 100 == 0) usleep(9000);
    }
    printf("checksum %u\n{\"bytes\": []}\n", sum);
    return 0;
}
