#include "allocator_names.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* A word of a name, between underscores. */
struct word {
    const char *at;
    size_t length;
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool is(struct word word, const char *text)
{
    return strlen(text) == word.length && memcmp(word.at, text, word.length) == 0;
}

static bool is_one_of(struct word word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is(word, list[i])) return true;
    return false;
}

/* Returns the number of words; 0 if there are more than @room or the name has other characters. */
static size_t words_of(const char *name, struct word *word, size_t room)
{
    size_t words = 0;
    for (const char *at = name; *at;) {
        const size_t length = strcspn(at, "_");
        for (size_t i = 0; i < length; i++)
            if (!isalnum((unsigned char)at[i])) return 0;
        if (length && words == room) return 0;
        if (length) word[words++] = (struct word){ at, length };
        at += length + (at[length] == '_');
    }
    return words;
}

/* Words that only functions of allocators have in their names. */
static const char *const allocating[] = {
    "malloc",   "calloc",       "realloc",  "memalign", "mallocx", "rallocx", "xallocx", "sallocx",
    "dallocx",  "sdallocx",     "nallocx",  "zalloc",   "valloc",  "pvalloc", "mallocn", "reallocn",
    "reallocf", "reallocarray", "recalloc", "rezalloc", "free",    "cfree",   "dealloc"
};

/* Words that functions of an interface and of other programs have in their names. */
static const char *const operators[] = { "new",         "newarray", "delete",
                                         "deletearray", "strdup",   "strndup" };

/* Words that an interface adds to the name of an allocating function. */
static const char *const qualifiers[] = { "je",      "aligned", "at",     "posix",   "small",
                                          "heap",    "theap",   "zeroed", "zero",    "default",
                                          "usable",  "size",    "sized",  "nothrow", "generic",
                                          "n",       "rust",    "alloc",  "page",    "skip",
                                          "handler", "hard",    "arena",  "large",   "independent",
                                          "pool",    "ex" };

/* Returns true if the words are a name of an allocator's interface without its prefix: malloc,
 * posix_memalign, aligned_alloc, heap_zalloc_aligned_at.
 * @with_operators: new and delete are such names. */
static bool is_interface(const struct word *word, size_t words, bool with_operators)
{
    bool found = false;
    for (size_t i = 0; i < words; i++) {
        const bool aligned_alloc =
            is(word[i], "alloc") && i && (is(word[i - 1], "aligned") || is(word[i - 1], "rust"));
        if (aligned_alloc || is_one_of(word[i], allocating, COUNT(allocating)) ||
            (with_operators && is_one_of(word[i], operators, COUNT(operators))))
            found = true;
        else if (!is_one_of(word[i], qualifiers, COUNT(qualifiers))) return false;
    }
    return found;
}

/* The prefix is words of the name: je_malloc, _rjem_je_malloc_default, duckdb_je_malloc. */
static bool has_prefix_word(const struct word *word, size_t words)
{
    static const char *const prefixes[] = { "je", "rjem", "mi", "tc", "sn" };
    for (size_t i = 0; i + 1 < words; i++)
        if (is_one_of(word[i], prefixes, COUNT(prefixes)))
            return is_interface(word + i + 1, words - i - 1, i == 0);
    return false;
}

/* The prefix is a part of the first word: dlmalloc, nedmalloc, rpaligned_alloc. */
static bool has_joined_prefix(struct word *word, size_t words)
{
    static const char *const prefixes[] = { "dl", "nedp", "ned", "rp", "xx" };
    const struct word first = word[0];
    bool found = false;
    for (size_t i = 0; i < COUNT(prefixes) && !found; i++) {
        const size_t length = strlen(prefixes[i]);
        if (first.length <= length || memcmp(first.at, prefixes[i], length) != 0) continue;
        word[0] = (struct word){ first.at + length, first.length - length };
        found = is_interface(word, words, false);
    }
    word[0] = first;
    return found;
}

/* Internal functions that map memory for an allocator. */
static bool maps(const char *function)
{
    static const char *const list[] = { "os_pages_map",
                                        "je_pages_map",
                                        "_rjem_je_pages_map",
                                        "extent_alloc_mmap",
                                        "ehooks_default_alloc_impl",
                                        "mi_os_alloc",
                                        "_mi_os_alloc",
                                        "_mi_os_alloc_aligned",
                                        "mi_os_prim_alloc",
                                        "_mi_prim_alloc",
                                        "mi_os_prim_alloc_aligned",
                                        "mi_os_mem_alloc",
                                        "unix_mmap_prim",
                                        "mi_os_mem_alloc_aligned",
                                        "TCMalloc_SystemAlloc" };
    for (size_t i = 0; i < COUNT(list); i++)
        if (strcmp(function, list[i]) == 0) return true;
    return false;
}

bool mpr_is_allocator(const char *function)
{
    struct word word[8];
    if (maps(function)) return true;
    const size_t words = words_of(function, word, COUNT(word));
    return words && (has_prefix_word(word, words) || has_joined_prefix(word, words));
}
