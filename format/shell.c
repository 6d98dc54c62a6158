#include "mpf/shell.h"

#include <string.h>

#include "mpf/utf8.h"

/* Means itself; NAME=VALUE alone is an assignment. */
static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    return *word && (*word == '-' || !strchr(word, '=')) && !word[strspn(word, plain)];
}

static bool are_shown(const char *word, bool (*is_shown)(uint32_t code))
{
    while (*word) {
        uint32_t code;
        if (!mpf_utf8_next(&word, &code) || !is_shown(code)) return false;
    }
    return true;
}

/* 'it'\''s' */
static void quote(char *out, const char *word)
{
    *out++ = '\'';
    for (; *word; word++) out = *word == '\'' ? stpcpy(out, "'\\''") : (*out = *word, out + 1);
    strcpy(out, "'");
}

/* $'line\x0aline': bytes that are not shown by their numbers. */
static void escape(char *out, const char *word, bool (*is_shown)(uint32_t code))
{
    static const char digit[] = "0123456789abcdef";
    out = stpcpy(out, "$'");
    while (*word) {
        const char *const start = word;
        uint32_t code;
        const bool shown = mpf_utf8_next(&word, &code) && is_shown(code);
        if (code == '\'' || code == '\\') *out++ = '\\';
        for (const char *at = start; at < word; at++) {
            const unsigned char byte = (unsigned char)*at;
            if (shown) *out++ = *at;
            else out = stpcpy(out, (char[]){ '\\', 'x', digit[byte >> 4], digit[byte & 15], 0 });
        }
    }
    strcpy(out, "'");
}

void mpf_shell_word(char *out, const char *word, bool (*is_shown)(uint32_t code))
{
    if (is_plain(word)) strcpy(out, word);
    else if (are_shown(word, is_shown)) quote(out, word);
    else escape(out, word, is_shown);
}
