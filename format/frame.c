#include "mpf/frame.h"

#include <stdbool.h>
#include <string.h>
#include <zstd_errors.h>

const char *mpf_error_text(int error)
{
    switch (error) {
    case MPF_OK: return "no error";
    case MPF_ERR_TRUNCATED: return "the file ends inside a frame";
    case MPF_ERR_DAMAGED: return "damaged";
    case MPF_ERR_VERSION: return "written by a newer memprof: its report tool is needed to read it";
    case MPF_ERR_SPACE: return "larger than the buffer";
    default: return "unknown error";
    }
}

static void put32(uint8_t *p, uint32_t v) { memcpy(p, &v, sizeof v); }
static void put64(uint8_t *p, uint64_t v) { memcpy(p, &v, sizeof v); }
static uint32_t get32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static uint64_t get64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void put_head(uint8_t *p, const struct mpf_frame *frame)
{
    memset(p, 0, MPF_FRAME_HEAD);
    put32(p, MPF_FRAME_MAGIC);
    p[4] = frame->major;
    p[5] = frame->minor;
    p[6] = frame->kind;
    put64(p + 8, frame->seq);
    put64(p + 16, frame->body_bytes);
}

long mpf_frame_write(ZSTD_CCtx *ctx, int level, const struct mpf_frame *frame, uint8_t *payload,
                     uint8_t *out, size_t cap)
{
    put_head(payload, frame);
    ZSTD_CCtx_reset(ctx, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
    const size_t n = ZSTD_compress2(ctx, out, cap, payload, MPF_FRAME_HEAD + frame->body_bytes);
    return ZSTD_isError(n) ? MPF_ERR_SPACE : (long)n;
}

size_t mpf_frame_bound(size_t body_bytes)
{
    return ZSTD_compressBound(MPF_FRAME_HEAD + body_bytes);
}

#define ZSTD_MAGIC 0xFD2FB528u

long mpf_frame_length(const uint8_t *in, size_t bytes)
{
    const size_t n = ZSTD_findFrameCompressedSize(in, bytes);
    if (!ZSTD_isError(n)) return (long)n;
    /* the remainder of a cut frame also begins with the magic */
    const uint32_t magic = ZSTD_MAGIC;
    const bool begins = memcmp(in, &magic, bytes < 4 ? bytes : 4) == 0;
    return begins && ZSTD_getErrorCode(n) == ZSTD_error_srcSize_wrong ? MPF_ERR_TRUNCATED
                                                                      : MPF_ERR_DAMAGED;
}

#define ZSTD_CHECKSUM_FLAG 4 /* in the byte after the magic */

long mpf_frame_payload(const uint8_t *in, size_t bytes)
{
    const unsigned long long n = ZSTD_getFrameContentSize(in, bytes);
    if (n == ZSTD_CONTENTSIZE_ERROR || n == ZSTD_CONTENTSIZE_UNKNOWN) return MPF_ERR_DAMAGED;
    if (!(in[4] & ZSTD_CHECKSUM_FLAG)) return MPF_ERR_DAMAGED; /* zstd would believe it unchecked */
    if (n < MPF_FRAME_HEAD || n > MPF_FRAME_HEAD + (unsigned long long)MPF_BODY_MAX)
        return MPF_ERR_DAMAGED;
    return (long)n;
}

int mpf_frame_read(ZSTD_DCtx *ctx, const uint8_t *in, size_t bytes, uint8_t *buf, size_t cap,
                   struct mpf_frame *frame)
{
    const long payload = mpf_frame_payload(in, bytes);
    if (payload < 0) return (int)payload;
    if ((size_t)payload > cap) return MPF_ERR_SPACE;
    const size_t n = ZSTD_decompressDCtx(ctx, buf, cap, in, bytes);
    if (ZSTD_isError(n) || n != (size_t)payload || get32(buf) != MPF_FRAME_MAGIC)
        return MPF_ERR_DAMAGED;
    *frame = (struct mpf_frame){
        buf[4], buf[5], buf[6], get64(buf + 8), buf + MPF_FRAME_HEAD, n - MPF_FRAME_HEAD
    };
    if (frame->major > MPF_MAJOR) return MPF_ERR_VERSION;
    return get64(buf + 16) == frame->body_bytes ? MPF_OK : MPF_ERR_DAMAGED;
}

size_t mpf_frame_resync(const uint8_t *in, size_t bytes, size_t from)
{
    const uint32_t magic = ZSTD_MAGIC;
    for (; from + 4 <= bytes; from++) {
        const uint8_t *p = memchr(in + from, (int)(magic & 0xff), bytes - from - 3);
        if (!p) break;
        from = (size_t)(p - in);
        if (memcmp(p, &magic, 4) == 0) return from;
    }
    return bytes;
}
