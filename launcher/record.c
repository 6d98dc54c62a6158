/* Each line is one write, so written lines remain if the launcher is killed with its command. */
#include "record.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct line {
    char text[2048];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(l->text + l->used, sizeof l->text - l->used, format, args);
    va_end(args);
    l->used =
        n < 0 || (size_t)n >= sizeof l->text - l->used ? sizeof l->text - 1 : l->used + (size_t)n;
}

/* Spaces and control characters would end the text, and % would start an escape, so they are
 * escaped. */
static void add_text(struct line *l, const char *key, const char *text)
{
    add(l, " %s=", key);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        add(l, c <= ' ' || c == '%' || c == 0x7f ? "%%%02x" : "%c", c);
    }
}

static void put(const struct mpl_record *r, struct line *l)
{
    add(l, "\n");
    if (r->fd >= 0 && write(r->fd, l->text, l->used) < 0)
        return; /* if the disk is full, reports must work without the record */
}

/* Several launchers, also on different hosts, may append to one file. */
static void add_where(struct line *l, const struct mpl_record *r)
{
    add_text(l, "host", r->host);
    add_text(l, "run", r->run);
}

static void put_beginning(const struct mpl_record *r)
{
    struct line l = { .used = 0 };
    char boot[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f || fscanf(f, "%63s", boot) != 1) *boot = 0;
    if (f) fclose(f);
    add(&l, "run version=1");
    add_text(&l, "boot", boot);
    add_where(&l, r);
    put(r, &l);
}

void mpl_record_open(struct mpl_record *r, int directory, const char *run)
{
    struct stat st;
    const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    *r = (struct mpl_record){ .directory = directory,
                              .run = run,
                              .fd = openat(directory, MPL_RECORD_NAME, flags | O_EXCL, 0600) };
    r->made = r->fd >= 0;
    gethostname(r->host, sizeof r->host - 1);
    if (!r->made) r->fd = openat(r->directory, MPL_RECORD_NAME, flags, 0600);
    if (r->fd >= 0 && (fstat(r->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())) {
        close(r->fd);
        r->fd = -1;
    }
    put_beginning(r);
}

static void add_process(struct line *l, const struct mpl_watched *p)
{
    add(l, " pid=%ld began=%" PRIu64, (long)p->pid, p->began);
}

void mpl_record_end(const struct mpl_record *r, const struct mpl_watched *p)
{
    static const char *const oom[] = { [MPL_OOM_CGROUP] = "cgroup", [MPL_OOM_KERNEL] = "kernel" };
    struct line l = { .used = 0 };
    add(&l, "end");
    add_process(&l, p);
    add(&l, " mono=%" PRIu64 " real=%" PRIu64, p->mono, p->real);
    if (p->end == MPL_END_EXIT) add(&l, " exit=%d", p->status);
    if (p->end == MPL_END_SIGNAL) add(&l, " signal=%d", p->status);
    if (p->oom) add(&l, " oom=%s", oom[p->oom]);
    if (p->rss) add(&l, " rss=%" PRIu64, p->rss);
    add_where(&l, r);
    add_text(&l, "name", p->name);
    put(r, &l);
}

void mpl_record_unseen(const struct mpl_record *r, const struct mpl_watched *p)
{
    static const char *const why[] = { [MPL_UNSEEN_DROPPED] = "dropped",
                                       [MPL_UNSEEN_STATIC] = "static",
                                       [MPL_UNSEEN_MUSL] = "musl",
                                       [MPL_UNSEEN_FOREIGN] = "foreign",
                                       [MPL_UNSEEN_RIGHTS] = "rights" };
    struct line l = { .used = 0 };
    add(&l, "unseen");
    add_process(&l, p);
    add(&l, " why=%s", why[p->unseen]);
    add_where(&l, r);
    add_text(&l, "name", p->name);
    put(r, &l);
}

void mpl_record_close(struct mpl_record *r, bool keep)
{
    if (!keep && r->made) unlinkat(r->directory, MPL_RECORD_NAME, 0);
    if (r->fd >= 0) close(r->fd);
    *r = (struct mpl_record){ .directory = -1, .fd = -1 };
}
