#include "shell.h"

#include <stdbool.h>
#include <string.h>

#include "utf8.h"

/* Means itself; NAME=VALUE alone is an assignment. */
static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    return *word && (*word == '-' || !strchr(word, '=')) && !word[strspn(word, plain)];
}

static bool is_shown(const char *word)
{
    while (*word) {
        uint32_t code;
        if (!mpr_utf8_next(&word, &code) || !mpr_utf8_shown(code)) return false;
    }
    return true;
}

/* 'it'\''s' */
static const char *quoted(struct mpr_arena *arena, const char *word)
{
    size_t quotes = 0;
    for (const char *at = word; *at; at++) quotes += *at == '\'';
    char *text = mpr_arena_alloc(arena, strlen(word) + 3 * quotes + 3), *out = text;
    *out++ = '\'';
    for (; *word; word++) out = *word == '\'' ? stpcpy(out, "'\\''") : (*out = *word, out + 1);
    *out = '\'';
    return text;
}

/* $'line\x0aline': bytes that are not shown by their numbers. */
static const char *escaped(struct mpr_arena *arena, const char *word)
{
    static const char digit[] = "0123456789abcdef";
    char *text = mpr_arena_alloc(arena, 4 * strlen(word) + 4), *out = stpcpy(text, "$'");
    while (*word) {
        const char *const start = word;
        uint32_t code;
        const bool shown = mpr_utf8_next(&word, &code) && mpr_utf8_shown(code);
        if (code == '\'' || code == '\\') *out++ = '\\';
        for (const char *at = start; at < word; at++) {
            const unsigned char byte = (unsigned char)*at;
            if (shown) *out++ = *at;
            else out = stpcpy(out, (char[]){ '\\', 'x', digit[byte >> 4], digit[byte & 15], 0 });
        }
    }
    *out = '\'';
    return text;
}

const char *mpr_shell_word(struct mpr_arena *arena, const char *word)
{
    if (is_plain(word)) return word;
    return is_shown(word) ? quoted(arena, word) : escaped(arena, word);
}
