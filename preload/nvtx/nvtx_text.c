#include "nvtx/nvtx_text.h"

#include <string.h>

#include "core/names.h"
#include "nvtx/nvtx_chain.h"

static size_t encode(uint32_t c, char *out)
{
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    const size_t bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = bytes - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(0xf00 >> bytes | c);
    return bytes;
}

size_t mp_nvtx_utf8(const wchar_t *wide, char *out, size_t cap)
{
    size_t n = 0;
    for (; *wide; wide++) {
        char one[4];
        const size_t bytes = encode((uint32_t)*wide, one);
        if (n + bytes > cap) break;
        memcpy(out + n, one, bytes);
        n += bytes;
    }
    return n;
}

uint32_t mp_nvtx_name_a(const char *text)
{
    return text ? mp_name_id(text, strnlen(text, MP_NAME_BYTES + 1)) : MP_NAME_NONE;
}

uint32_t mp_nvtx_name_w(const wchar_t *text)
{
    if (!text) return MP_NAME_NONE;
    char utf8[MP_NAME_BYTES];
    return mp_name_id(utf8, mp_nvtx_utf8(text, utf8, sizeof utf8));
}

uint32_t mp_nvtx_name(uint32_t type, union nvtx_text text)
{
    switch (type) {
    case NVTX_MESSAGE_ASCII: return mp_nvtx_name_a(text.ascii);
    case NVTX_MESSAGE_UNICODE: return mp_nvtx_name_w(text.unicode);
    case NVTX_MESSAGE_REGISTERED: return mp_name_check(mp_nvtx_number(text.registered));
    default: return MP_NAME_NONE;
    }
}

uint32_t mp_nvtx_name_event(nvtx_event_t e)
{
    if (!e || e->bytes < sizeof *e) return MP_NAME_NONE;
    return mp_nvtx_name((uint32_t)e->message_type, e->message);
}

bool mp_nvtx_domain(const void *handle, uint32_t *domain)
{
    *domain = handle ? mp_domain_check(mp_nvtx_number(handle)) : 0;
    return !handle || *domain != MP_NAME_NONE;
}
