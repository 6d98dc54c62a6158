/* C++ names are demangled by the C++ runtime library, which is loaded at the first one.  Rust's
 * older scheme is that of C++ with a hash at the end and escapes.  Its newer scheme (_R...) is in
 * demangle_rust.c. */
#include "demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

typedef char *demangler(const char *name, char *out, size_t *bytes, int *status);

/* ---- Rust */

/* Removes the hash of a name like "...::h0123456789abcdef".  Returns false if it has none. */
static bool cut_hash(char *name)
{
    const size_t length = strlen(name);
    char *hash = length > 19 ? name + length - 19 : NULL;
    if (!hash || strncmp(hash, "::h", 3) != 0 || strspn(hash + 3, "0123456789abcdef") != 16)
        return false;
    *hash = 0;
    return true;
}

/* Works in place, because each escape is longer than its character. */
static void unescape(char *name)
{
    static const struct {
        const char *escape;
        char is;
    } known[] = {
        { "$LT$", '<' },  { "$GT$", '>' },  { "$RF$", '&' },  { "$BP$", '*' },  { "$LP$", '(' },
        { "$RP$", ')' },  { "$C$", ',' },   { "$SP$", '@' },  { "$u20$", ' ' }, { "$u27$", '\'' },
        { "$u5b$", '[' }, { "$u5d$", ']' }, { "$u7b$", '{' }, { "$u7d$", '}' }, { "$u3b$", ';' },
        { "$u2b$", '+' }, { "$u22$", '"' }, { "$u7e$", '~' },
    };
    const size_t escapes = sizeof known / sizeof *known;
    const char *from = name;
    char *to = name;
    if (strncmp(from, "_$", 2) == 0) from++;
    while (*from) {
        size_t i = 0;
        while (i < escapes && strncmp(from, known[i].escape, strlen(known[i].escape)) != 0) i++;
        const bool has_underscore = strncmp(from, "::_$", 4) == 0;
        if (has_underscore || strncmp(from, "..", 2) == 0) {
            memcpy(to, "::", 2);
            to += 2;
            from += has_underscore ? 3 : 2;
        } else {
            *to++ = i < escapes ? known[i].is : *from;
            from += i < escapes ? strlen(known[i].escape) : 1;
        }
    }
    *to = 0;
}

/* ---- C++ */

/* Turns "f(int) const" into "f": cuts at the bracket that matches the last ")", unless the text
 * before it cannot be a name. */
static void cut_parameters(char *name)
{
    char *close = strrchr(name, ')');
    int depth = 0;
    if (!close || strchr(close, ':')) return;
    for (char *p = close; p > name; p--) {
        if (*p == ')') depth++;
        if (*p == '(' && --depth == 0) {
            if (isalnum((unsigned char)p[-1]) || strchr("_>]~=+-*/%&|^!<,)", p[-1])) *p = 0;
            return;
        }
    }
}

char *mpr_demangle(const char *name)
{
    static bool tried;
    static demangler *demangle;
    int status = 0;
    char *rust = strncmp(name, "_R", 2) == 0 ? mpr_demangle_rust(name) : NULL;
    if (rust) return rust;
    if (strncmp(name, "_Z", 2) != 0) return mpr_text_copy(name);
    if (!tried) {
        tried = true;
        void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
        if (library) *(void **)&demangle = dlsym(library, "__cxa_demangle");
    }
    char *text = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    if (!text && status == -1) mpr_alloc_fail();
    if (!text) return mpr_text_copy(name);
    if (cut_hash(text)) unescape(text);
    else cut_parameters(text);
    return text;
}
