// clang-format off
// cause: instance
// owner: decode|rotate|resize_upload
// change: limit|bound|cap|stream|pieces|strip|tile|split|largest|reject|chunk|input|one|smaller
// source: an image service without a limit for uploads: one picture of 63 million pixels among many of two million
// clang-format on
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct picture {
    int width, height;
    uint32_t *pixels;
};

__attribute__((noinline)) static struct picture decode(int width, int height)
{
    struct picture picture = { width, height, malloc((size_t)width * height * 4) };
    if (picture.pixels == NULL) exit(1);
    memset(picture.pixels, width % 255 + 1, (size_t)width * height * 4);
    return picture;
}

__attribute__((noinline)) static struct picture rotate(struct picture from)
{
    struct picture to = { from.height, from.width, malloc((size_t)from.width * from.height * 4) };
    if (to.pixels == NULL) exit(1);
    for (int y = 0; y < from.height; y++)
        for (int x = 0; x < from.width; x++)
            to.pixels[(size_t)x * to.width + y] = from.pixels[(size_t)y * from.width + x];
    return to;
}

__attribute__((noinline)) static unsigned resize_upload(int width, int height)
{
    struct picture upload = decode(width, height), upright = rotate(upload);
    unsigned sum = 0;
    for (int y = 0; y < upright.height; y += 16)
        for (int x = 0; x < upright.width; x += 16)
            sum += upright.pixels[(size_t)y * upright.width + x] & 255;
    free(upright.pixels);
    free(upload.pixels);
    return sum;
}

int main(void)
{
    unsigned sum = 0;
    for (int upload = 0; upload < 40; upload++) {
        if (upload == 23) sum += resize_upload(9000, 7000);
        else sum += resize_upload(1600 + upload % 4 * 20, 1200);
        usleep(90000);
    }
    size_t large = (size_t)9000 * 7000 * 4;
    printf("checksum %u\n{\"bytes\": [%zu, %zu]}\n", sum, large, 2 * large);
    return 0;
}
