#include "core/logfile.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "base/text.h"
#include "core/config.h"
#include "core/log_pairs.h"
#include "core/records.h"
#include "core/say.h"
#include "core/state.h"
#include "mpf/frame.h"
#include "mpf/shell.h"
#include "mpf/utf8.h"

#define HEADER_BYTES (64u << 10)

static char path[PATH_MAX];
static struct mp_log_parent parent;
static struct mpf_file file;
static uint32_t made; /* how often the file was created; more than once after a failed exec */

/* The log's descriptor + 1 in the table that memprof's threads share, and which file it is
 * (`made`). */
static struct {
    int descriptor;
    uint32_t made;
} kept;

struct writer {
    ZSTD_CCtx *ctx;
    uint8_t *body, *out;
    size_t body_cap, out_cap;
    uint64_t seq; /* of the current frame */
    size_t body_bytes;
    long bytes; /* of the frame, in `out`; 0 if it could not be encoded */
};

/* The state of one process. A forked child starts with zeros. */
static struct {
    uint64_t frames, bytes;
    uint64_t bytes_before_end, frames_with_end;
    void *away; /* the bytes of the removed file */
    struct writer writer[MP_WRITERS];
} log_;

const char *mp_logfile_path(void) { return path; }
struct mpf_file mp_logfile_file(void) { return file; }

static bool is_shown(uint32_t code) { return !mpf_utf8_unsafe(code); }

const char *mp_logfile_word(void)
{
    static char word[MPF_SHELL_BYTES(sizeof path)];
    mpf_shell_word(word, path, is_shown);
    return word;
}

uint64_t mp_logfile_bytes(void) { return log_.bytes; }
uint64_t mp_logfile_next(void) { return log_.frames; }
void mp_logfile_remove(void) { mp_sys_unlink(path); }

bool mp_logfile_gone(void)
{
    struct stat st;
    const long r = mp_sys_lstat(path, &st);
    return r == -ENOENT || (r == 0 && (st.st_dev != file.dev || st.st_ino != file.ino));
}

void mp_logfile_inherit(void)
{
    memcpy(parent.path, path, sizeof path);
    memset(&log_, 0, sizeof log_);
}

/* The writers keep their memory. */
void mp_logfile_renew(void)
{
    parent.path[0] = 0;
    log_.frames = log_.bytes = log_.bytes_before_end = log_.frames_with_end = 0;
    log_.away = NULL;
}

/* ---- creation */

static void make_folders(char *file_path)
{
    for (char *p = file_path + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mp_sys_mkdir(file_path, 0777);
        *p = '/';
    }
}

/* "x.zst" -> "x.2.zst" */
static bool numbered_path(char *out, size_t cap, const char *base, unsigned n)
{
    const size_t length = strlen(base);
    const size_t stem = length > 4 && !strcmp(base + length - 4, ".zst") ? length - 4 : length;
    struct mp_text t = { out, cap, 0, false };
    mp_text_bytes(&t, base, stem);
    if (n > 1) {
        mp_text_str(&t, ".");
        mp_text_u64(&t, n);
    }
    mp_text_str(&t, base + stem);
    return !t.full;
}

static bool is_no_file(const char *name)
{
    struct stat st;
    return mp_sys_lstat(name, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode);
}

/* The file is next to a file of this name, but not next to /dev/null or a directory. */
static int create_file(const char *base)
{
    if (is_no_file(base)) return -EEXIST;
    for (unsigned n = 1; n < 10000; n++) {
        if (!numbered_path(path, sizeof path, base, n)) return -ENAMETOOLONG;
        const int fd = mp_sys_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (fd != -EEXIST) return fd;
    }
    return -EEXIST;
}

static void set_file(int fd)
{
    file = mp_sys_file(fd);
    made++;
}

bool mp_logfile_create(uint8_t id[16])
{
    static char base[PATH_MAX]; /* one thread at a time; the stack may be small */
    int fd = mp_config_path(base, sizeof base);
    if (fd == 0) {
        make_folders(base);
        fd = create_file(base);
    }
    if (fd >= 0) set_file(fd);
    else {
        mp_say("cannot create the log ", base, ": ", strerrordesc_np(-fd));
        return false;
    }
    mp_sys_close(fd);
    const uint64_t mix[2] = { mp_process->start.real ^ mp_process->start.ticks << 20,
                              (uint64_t)mp_process->pid << 32 | (uint32_t)mp_process->start.mono };
    if (mp_sys3(SYS_getrandom, (long)id, 16, 1) != 16) memcpy(id, mix, 16);
    return true;
}

/* ---- writing */

/* Returns true if the file has no name any more, so that its content would be lost. */
static bool removed(int fd)
{
    struct stat st;
    return mp_sys_fstat(fd, &st) == 0 && st.st_nlink == 0;
}

static bool is_kept(void) { return mp_thread_is_own() && kept.descriptor && kept.made == made; }

static int open_again(void)
{
    if (is_kept()) return removed(kept.descriptor - 1) ? -ENOENT : kept.descriptor - 1;
    const int fd = mp_sys_reopen(path, O_WRONLY | O_APPEND, file);
    if (fd >= 0 && mp_thread_is_own()) kept.descriptor = fd + 1, kept.made = made;
    return fd;
}

void mp_logfile_keep_open(void)
{
    kept.descriptor = 0;
    if (mp_process->state == MP_ON) open_again();
}

static void close_again(int fd)
{
    if (!is_kept()) mp_sys_close(fd);
}

/* A write beyond RLIMIT_FSIZE would send SIGXFSZ to the program. */
static bool within_limit(size_t n)
{
    struct rlimit limit;
    return mp_sys6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) < 0 ||
           log_.bytes + n <= limit.rlim_cur;
}

/* A frame is written completely or not at all: the part that a full disk left is truncated. If
 * truncation is refused (seccomp, an append-only file) it remains, and a reader skips it. */
static int append(const struct writer *w)
{
    const size_t n = (size_t)w->bytes;
    const int fd = within_limit(n) ? open_again() : -EFBIG;
    if (fd < 0) return fd;
    size_t done;
    const int error = (int)mp_sys_write_all(fd, w->out, n, &done);
    if (!error) log_.bytes += n, log_.frames++;
    else if (done && mp_sys_ftruncate(fd, (off_t)log_.bytes) != 0) log_.bytes += done;
    close_again(fd);
    return error;
}

bool mp_logfile_prepare(unsigned writer, size_t body)
{
    struct writer *w = &log_.writer[writer];
    if (!w->ctx) {
        const size_t bytes = ZSTD_estimateCCtxSize(mp_config.level);
        void *memory = mp_sys_map(bytes);
        w->ctx = memory ? ZSTD_initStaticCCtx(memory, bytes) : NULL;
    }
    if (w->body_cap < body) {
        const size_t out = mpf_frame_bound(body);
        uint8_t *memory = mp_sys_map(MPF_FRAME_HEAD + body + out);
        if (!memory) return false;
        if (w->body)
            mp_sys_munmap(w->body - MPF_FRAME_HEAD, MPF_FRAME_HEAD + w->body_cap + w->out_cap);
        w->body = memory + MPF_FRAME_HEAD;
        w->body_cap = body;
        w->out = w->body + body;
        w->out_cap = out;
    }
    return w->ctx != NULL;
}

static bool compress(struct writer *w, int kind, uint64_t seq)
{
    const struct mpf_frame frame = { MPF_MAJOR, MPF_MINOR, (uint8_t)kind,
                                     seq,       w->body,   w->body_bytes };
    const long n = mpf_frame_write(w->ctx, mp_config.level, &frame, w->body - MPF_FRAME_HEAD,
                                   w->out, w->out_cap);
    w->seq = seq;
    w->bytes = n > 0 ? n : 0;
    return n > 0;
}

bool mp_logfile_events(unsigned writer, uint64_t seq, struct mpf_columns *columns,
                       const struct mpf_clock *from, const struct mpf_clock *to)
{
    struct writer *w = &log_.writer[writer];
    const long n = mpf_columns_finish(columns, from, to, w->body, w->body_cap);
    w->body_bytes = n > 0 ? (size_t)n : 0;
    w->bytes = 0;
    return n > 0 && compress(w, MPF_FRAME_EVENTS, seq);
}

/* If the previous frame was not written, this one takes its number. */
int mp_logfile_write(unsigned writer)
{
    struct writer *w = &log_.writer[writer];
    if (w->bytes && w->seq != log_.frames) compress(w, MPF_FRAME_EVENTS, log_.frames);
    return w->bytes ? append(w) : -ENOMEM;
}

uint64_t mp_logfile_frame_bytes(unsigned writer) { return (uint64_t)log_.writer[writer].bytes; }

/* Writes the header or the end with the first writer's buffers. */
static bool write_pairs(int kind, size_t bytes)
{
    struct writer *w = &log_.writer[0];
    w->body_bytes = bytes;
    return compress(w, kind, log_.frames) && append(w) == 0;
}

/* ---- header and end */

bool mp_logfile_header(const uint8_t id[16])
{
    if (!mp_logfile_prepare(0, HEADER_BYTES)) return false;
    struct mpf_pairs p;
    mpf_pairs_init(&p, log_.writer[0].body, log_.writer[0].body_cap);
    mp_pairs_header(&p, id, &parent);
    parent.pid = mp_process->pid;
    return write_pairs(MPF_FRAME_HEADER, mpf_pairs_bytes(&p));
}

bool mp_logfile_end(const char *reason)
{
    if (!mp_logfile_prepare(0, HEADER_BYTES)) return false;
    struct mpf_pairs p;
    mpf_pairs_init(&p, log_.writer[0].body, log_.writer[0].body_cap);
    mp_pairs_end(&p, reason);
    log_.bytes_before_end = log_.bytes;
    log_.frames_with_end = log_.frames + 1;
    return write_pairs(MPF_FRAME_END, mpf_pairs_bytes(&p));
}

/* ---- an exec that may fail */

/* If truncation is refused, the next frame overwrites the END. */
void mp_logfile_go_on(void)
{
    const int fd = log_.frames == log_.frames_with_end ? open_again() : -1;
    if (fd < 0) return;
    if (mp_sys_ftruncate(fd, (off_t)log_.bytes_before_end) == 0) {
        log_.bytes = log_.bytes_before_end;
        log_.frames--;
    }
    close_again(fd);
}

/* A mapping keeps the bytes without a descriptor, and an exec removes it. */
void mp_logfile_put_away(void)
{
    const int fd = mp_sys_reopen(path, O_RDONLY, file);
    if (fd < 0) return;
    log_.away = mp_sys_mmap(NULL, log_.bytes, PROT_READ, MAP_PRIVATE, fd);
    mp_sys_close(fd);
    mp_logfile_remove();
}

bool mp_logfile_bring_back(void)
{
    const int fd = log_.away && within_limit(0)
                       ? mp_sys_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600)
                       : -1;
    if (fd < 0) return false;
    size_t done;
    const bool ok = mp_sys_write_all(fd, log_.away, log_.bytes, &done) == 0;
    if (ok) set_file(fd);
    else mp_logfile_remove();
    mp_sys_close(fd);
    mp_sys_munmap(log_.away, log_.bytes);
    log_.away = NULL;
    return ok;
}
