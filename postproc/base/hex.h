/* Bytes as hexadecimal text. */
#ifndef MPR_HEX_H
#define MPR_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes 2 * count digits and a zero into the text, and returns the text. */
static inline const char *mpr_hex(char *text, const uint8_t *bytes, size_t count)
{
    static const char digit[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = digit[bytes[i] >> 4];
        text[2 * i + 1] = digit[bytes[i] & 15];
    }
    text[2 * count] = 0;
    return text;
}

#endif
