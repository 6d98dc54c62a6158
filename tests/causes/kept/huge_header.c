// cause: instance
// owner: read_frame|handle_connection|decode
// change: limit|bound|piece|stream|chunk|max|check|smaller|split
// source: the kind of protocols that trust the length field of a frame
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct frame {
    uint32_t length;
    unsigned char *payload;
};

__attribute__((noinline)) static struct frame read_frame(uint32_t announced)
{
    struct frame f = { announced, malloc(announced) };
    memset(f.payload, 0x5a, announced);
    return f;
}

__attribute__((noinline)) static unsigned char *decode(const struct frame *f)
{
    unsigned char *text = malloc(f->length / 4 * 3);
    for (uint32_t i = 0; i < f->length / 4 * 3; i++) text[i] = f->payload[i] ^ 0x20;
    return text;
}

__attribute__((noinline)) static unsigned handle_connection(uint32_t announced)
{
    struct frame f = read_frame(announced);
    unsigned char *text = decode(&f);
    unsigned answer = text[f.length / 2];
    free(text);
    free(f.payload);
    return answer;
}

int main(void)
{
    unsigned sum = 0;
    uint32_t large = 120u << 20;
    for (int n = 0; n < 400; n++) {
        sum += handle_connection(n == 271 ? large : 4096u * (1 + n % 64));
        usleep(5000);
    }
    printf("%u\n{\"bytes\": [%u, %u, %u]}\n", sum, large, large / 4 * 7, large / 4 * 3);
    return 0;
}
