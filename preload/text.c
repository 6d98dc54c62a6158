#include "text.h"

#include <string.h>

#include "config.h"
#include "sys.h"

void mp_text_bytes(struct mp_text *t, const char *bytes, size_t n)
{
    const size_t room = t->cap - 1 - t->bytes;
    if (n > room) {
        n = room;
        t->full = true;
    }
    memcpy(t->buf + t->bytes, bytes, n);
    t->bytes += n;
    t->buf[t->bytes] = 0;
}

void mp_text_str(struct mp_text *t, const char *text) { mp_text_bytes(t, text, strlen(text)); }

void mp_text_u64(struct mp_text *t, uint64_t value)
{
    char digits[20];
    size_t n = sizeof digits;
    do digits[--n] = (char)('0' + value % 10); while (value /= 10);
    mp_text_bytes(t, digits + n, sizeof digits - n);
}

void mp_text_size(struct mp_text *t, uint64_t bytes)
{
    static const char *const unit[] = { " B", " KiB", " MiB", " GiB", " TiB" };
    unsigned u = 0;
    uint64_t whole = bytes, rest = 0;
    for (; whole >= 1024 && u < 4; u++) {
        rest = whole % 1024;
        whole /= 1024;
    }
    mp_text_u64(t, whole);
    if (u) {
        mp_text_str(t, ".");
        mp_text_u64(t, rest * 10 / 1024);
    }
    mp_text_str(t, unit[u]);
}

bool mp_text_version(const char *text, unsigned part[2])
{
    for (int i = 0; i < 2; i++) {
        if ((i && *text++ != '.') || *text < '0' || *text > '9') return false;
        for (part[i] = 0; *text >= '0' && *text <= '9'; text++)
            if ((part[i] = part[i] * 10 + (unsigned)(*text - '0')) >= 100) return false;
    }
    return true;
}

static struct stat stderr_was;
static bool stderr_known;

void mp_say_init(void) { stderr_known = mp_sys_fstat(2, &stderr_was) == 0; }

/* A program that closed stderr may have a file of its own at descriptor 2. */
static bool stderr_is_same(void)
{
    struct stat now;
    return stderr_known && mp_sys_fstat(2, &now) == 0 && now.st_dev == stderr_was.st_dev && now.st_ino == stderr_was.st_ino;
}

void mp_say_line(const struct mp_text *t)
{
    enum { WAIT_MS = 1000 };
    if (mp_config.quiet || !stderr_is_same() || !mp_sys_writable(2, WAIT_MS)) return;
    size_t done;
    mp_sys_write_all(2, t->buf, t->bytes, &done);
}

void mp_say(const char *a, const char *b, const char *c, const char *d)
{
    char line[1024];
    struct mp_text t = MP_TEXT(line);
    mp_text_str(&t, "memprof: ");
    const char *const part[] = { a, b, c, d };
    for (size_t i = 0; i < 4 && part[i]; i++) mp_text_str(&t, part[i]);
    mp_text_str(&t, "\n");
    mp_say_line(&t);
}
