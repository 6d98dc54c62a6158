#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "basename.h"
#include "cmd.h"
#include "utf8.h"

enum { FIRST_MS = 1000, STEP_MS = 100, WIDTH = 40 };

static struct {
    uint64_t next;
    bool shown;
} bar;

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void draw(const char *path, uint64_t done, uint64_t total)
{
    static const char full[WIDTH + 1] = "########################################";
    const int filled = total ? (int)(done * WIDTH / total) : WIDTH;
    char name[33];
    snprintf(name, sizeof name, "%s", mpr_basename(path));
    fprintf(stderr, "\r[%.*s%*s] %3d %%  ", filled, full, WIDTH - filled, "", filled * 100 / WIDTH);
    mpr_utf8_escaped(stderr, name);
    fputs("\033[K", stderr);
    bar.shown = true;
}

static void tick(void *arg, const char *path, uint64_t done, uint64_t total)
{
    (void)arg;
    const uint64_t now = now_ms();
    if (now < bar.next) return;
    bar.next = now + STEP_MS;
    draw(path, done, total);
}

struct mpr_progress mpr_bar(void)
{
    bar.next = now_ms() + FIRST_MS;
    return (struct mpr_progress){ isatty(STDERR_FILENO) ? tick : NULL, NULL };
}

void mpr_bar_clear(void)
{
    if (bar.shown) fputs("\r\033[K", stderr);
    bar.shown = false;
}
