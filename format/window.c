#include "mpf/window.h"

#include <signal.h>
#include <string.h>

#include "mpf/keep.h"

/* Returns the rest of the text after the word, or NULL if the text does not start with it. */
static const char *text_after(const char *text, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(text, word, length) == 0 ? text + length : NULL;
}

/* Returns the number between the last colon and *end, which moves to that colon, or 0. */
static uint64_t cut_number(const char *text, size_t *end)
{
    size_t at = *end;
    uint64_t n = 0;
    while (at && text[at - 1] >= '0' && text[at - 1] <= '9') at--;
    if (at == *end || at < 2 || text[at - 1] != ':' || *end - at > 18) return 0;
    for (size_t i = at; i < *end; i++) n = n * 10 + (uint64_t)(text[i] - '0');
    if (n) *end = at - 1;
    return n;
}

static int read_range(const char *text, struct mpf_window *w)
{
    w->by = MPF_WINDOW_RANGE;
    w->name = text;
    w->name_bytes = strlen(text);
    w->last = cut_number(text, &w->name_bytes);
    w->first = cut_number(text, &w->name_bytes);
    if (!w->first) w->first = w->last;
    return w->name_bytes && w->first <= w->last;
}

static int read_time(const char *text, size_t bytes, uint64_t *ns)
{
    char one[32];
    struct mpf_keep time;
    if (bytes >= sizeof one) return 0;
    memcpy(one, text, bytes);
    one[bytes] = 0;
    if (!mpf_keep_read(one, &time) || !time.ns) return 0;
    *ns = time.ns;
    return 1;
}

static int read_times(const char *text, struct mpf_window *w)
{
    w->by = MPF_WINDOW_TIME;
    const char *delay = text_after(text, "delay:");
    const size_t bytes = delay ? strcspn(delay, ",") : 0;
    if (delay && !read_time(delay, bytes, &w->delay_ns)) return 0;
    const char *rest = delay ? delay + bytes : text;
    if (delay && !*rest) return 1;
    const char *duration = text_after(rest, delay ? ",duration:" : "duration:");
    return duration && read_time(duration, strlen(duration), &w->duration_ns);
}

static int read_signal(const char *text, struct mpf_window *w)
{
    w->by = MPF_WINDOW_SIGNAL;
    w->signal = strcmp(text, "USR1") == 0 ? SIGUSR1 : strcmp(text, "USR2") == 0 ? SIGUSR2 : 0;
    return w->signal != 0;
}

int mpf_window_read(const char *text, struct mpf_window *window)
{
    const char *rest;
    *window = (struct mpf_window){ .by = MPF_WINDOW_PROFILER };
    if (strcmp(text, "profiler") == 0) return 1;
    if ((rest = text_after(text, "range:"))) return read_range(rest, window);
    if ((rest = text_after(text, "signal:"))) return read_signal(rest, window);
    return read_times(text, window);
}
