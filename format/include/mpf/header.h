/* HEADER and END frames: pairs of NUL-terminated strings (key, value), UTF-8, in any order. A key
 * may repeat (argv). A reader skips unknown keys. FORMAT.md lists them. */
#ifndef MPF_HEADER_H
#define MPF_HEADER_H

#include <stddef.h>
#include <stdint.h>

struct mpf_pairs {
    char *at, *start, *end;
    int full;
};

/* Writer over the caller's buffer: pairs that do not fit are left out and make mpf_pairs_bytes
 * return 0. */
void mpf_pairs_init(struct mpf_pairs *p, void *buf, size_t cap);
void mpf_pairs_add(struct mpf_pairs *p, const char *key, const char *value);
void mpf_pairs_add_u64(struct mpf_pairs *p, const char *key, uint64_t value);
/* As 32 hex digits. */
void mpf_pairs_add_hex(struct mpf_pairs *p, const char *key, const uint8_t bytes[16]);
size_t mpf_pairs_bytes(const struct mpf_pairs *p);

/* Reader: next pair from *at; 1, or 0 at the end, or MPF_ERR_DAMAGED (an unterminated string). */
int mpf_pairs_next(const char **at, const char *end, const char **key, const char **value);
/* 32 hex digits; the dashes that the kernel puts between some are passed over.  1; or 0, and zeros,
 * when they are not that. */
int mpf_hex_read(const char *text, uint8_t bytes[16]);

#endif
