#include "core/say.h"

#include <string.h>

#include "base/sys.h"
#include "core/records.h"
#include "mpf/utf8.h"

static struct stat stderr_was;
static bool stderr_known, is_quiet;
static char *sink;
static size_t sink_bytes;

void mp_say_init(void) { stderr_known = mp_sys_fstat(2, &stderr_was) == 0; }
void mp_say_quiet(bool quiet) { is_quiet = quiet; }
void mp_say_into(char *buf, size_t cap)
{
    stderr_known = false;
    sink_bytes = cap;
    sink = buf;
}

/* A program that closed stderr may have another file at descriptor 2. */
static bool stderr_is_same(void)
{
    struct stat now;
    return stderr_known && mp_sys_fstat(2, &now) == 0 && now.st_dev == stderr_was.st_dev &&
           now.st_ino == stderr_was.st_ino;
}

/* Names of files and variables may have any bytes. Bytes that a terminal would interpret, or that
 * would end the line, are replaced by "?". */
static void hide_unsafe(const struct mp_text *t)
{
    for (const char *at = t->buf; *at;) {
        char *const start = t->buf + (at - t->buf);
        uint32_t code;
        const bool whole = mpf_utf8_next(&at, &code), last = !*at;
        if (!whole || (mpf_utf8_unsafe(code) && !(last && code == '\n')))
            memset(start, '?', (size_t)(at - start));
    }
}

/* A line from a memprof thread, whose descriptor table has no stderr. The thread that waits for the
 * job prints it. */
static struct {
    uint32_t state;
    size_t bytes;
    char line[1024];
} kept;
enum { EMPTY, IN_USE, FULL };

static bool claim_kept(uint32_t from)
{
    return __atomic_compare_exchange_n(&kept.state, &from, IN_USE, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static void keep_line(const struct mp_text *t)
{
    if (t->bytes >= sizeof kept.line || !claim_kept(EMPTY)) return;
    memcpy(kept.line, t->buf, t->bytes + 1);
    kept.bytes = t->bytes;
    __atomic_store_n(&kept.state, FULL, __ATOMIC_RELEASE);
}

void mp_say_kept(void)
{
    if (__atomic_load_n(&kept.state, __ATOMIC_RELAXED) != FULL || !claim_kept(FULL)) return;
    const struct mp_text t = { kept.line, sizeof kept.line, kept.bytes, false };
    mp_say_line(&t);
    __atomic_store_n(&kept.state, EMPTY, __ATOMIC_RELEASE);
}

static void copy_line(const struct mp_text *t)
{
    const size_t bytes = t->bytes < sink_bytes ? t->bytes : sink_bytes - 1;
    memcpy(sink, t->buf, bytes);
    sink[bytes] = 0;
}

void mp_say_line(const struct mp_text *t)
{
    enum { WAIT_MS = 1000 };
    if (mp_thread_is_own()) {
        keep_line(t);
        return;
    }
    if (sink) copy_line(t);
    if (is_quiet || !stderr_is_same() || !mp_sys_writable(2, WAIT_MS)) return;
    size_t done;
    hide_unsafe(t);
    mp_sys_write_all(2, t->buf, t->bytes, &done);
}

static uint32_t busy; /* set while a line is being written */

/* The line is static because stacks may be small. If two threads call this at once, one prints
 * nothing. */
void mp_say(const char *a, const char *b, const char *c, const char *d)
{
    static char line[1024];
    struct mp_text t = MP_TEXT(line);
    if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) return;
    mp_text_str(&t, "memprof: ");
    const char *const part[] = { a, b, c, d };
    for (size_t i = 0; i < 4 && part[i]; i++) mp_text_str(&t, part[i]);
    mp_text_str(&t, "\n");
    mp_say_line(&t);
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

void mp_say_reset(void) { kept.state = busy = 0; }
