#include "ranges.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "basename.h"

/* ---- texts */

void mpr_texts_set(struct mpr_texts *texts, uint32_t id, const uint8_t *data, size_t bytes)
{
    if (texts->bytes + bytes > MPR_TEXTS_BYTES || mpr_index_get(&texts->number, id)) return;
    MPR_GROW(texts->text, texts->count, texts->cap);
    char *copy = mpr_alloc(bytes + 1, 1);
    if (bytes) memcpy(copy, data, bytes);
    texts->text[texts->count++] = (struct mpr_text){ copy, (uint32_t)bytes };
    texts->bytes += bytes + sizeof *texts->text;
    mpr_index_set(&texts->number, id, texts->count);
}

const char *mpr_texts_get(const struct mpr_texts *texts, uint32_t id, size_t *bytes)
{
    const uint32_t number = mpr_index_get(&texts->number, id);
    if (!number) return NULL;
    *bytes = texts->text[number - 1].bytes;
    return texts->text[number - 1].at;
}

static void free_texts(struct mpr_texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++) free((char *)texts->text[i].at);
    free(texts->text);
    mpr_index_free(&texts->number);
}

const char *mpr_ranges_domain(const struct mpr_ranges *r, uint32_t domain)
{
    size_t bytes;
    const char *name = domain ? mpr_texts_get(&r->domains, domain, &bytes) : NULL;
    return name ? name : "";
}

/* ---- names without their numbers */

struct piece {
    const char *at, *end;
};

/* Returns where the value of a pair begins, or NULL if the pair does not begin with a key. */
static const char *value_of(struct piece pair)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const char *p = pair.at;
    while (p < pair.end && *p && strchr(letters, *p)) p++;
    return p > pair.at && p < pair.end && *p == '=' ? p + 1 : NULL;
}

/* Returns the pair that begins at `at`.  TSL escapes nothing, so only a comma with a key and "="
 * after it ends a pair. */
static struct piece pair_at(const char *at, const char *end)
{
    for (const char *p = at; p < end; p++)
        if (*p == ',' && value_of((struct piece){ p + 1, end })) return (struct piece){ at, p };
    return (struct piece){ at, end };
}

static char *put(char *to, const char *separator, struct piece text)
{
    const size_t bytes = (size_t)(text.end - text.at), before = strlen(separator);
    memcpy(to, separator, before);
    memcpy(to + before, text.at, bytes);
    return to + before + bytes;
}

bool mpr_is_traceme(const char *name, size_t bytes)
{
    if (bytes < 2 || name[bytes - 1] != '#') return false;
    const char *mark = memchr(name, '#', bytes - 1);
    return mark && mark > name && value_of((struct piece){ mark + 1, name + bytes - 1 });
}

size_t mpr_traceme_plain(const char *name, size_t bytes, char *out)
{
    const char *mark = memchr(name, '#', bytes), *end = name + bytes - 1, *head = mark;
    while (head > name && head[-1] == ':') head--; /* "XlaModule" of "XlaModule:#...#" */
    char *to = put(out, "", (struct piece){ name, head });
    const char *separator = " ";
    for (struct piece pair = pair_at(mark + 1, end);; pair = pair_at(pair.end + 1, end)) {
        const struct piece value = { value_of(pair), pair.end };
        if (value.at + strspn(value.at, "0123456789") < value.end) { /* the name ends with '#' */
            to = put(to, separator, value);
            separator = ", ";
        }
        if (pair.end == end) return (size_t)(to - out);
    }
}

void mpr_ranges_set_name(struct mpr_ranges *r, uint32_t id, const uint8_t *data, size_t bytes)
{
    if (!mpr_is_traceme((const char *)data, bytes) || mpr_index_get(&r->names.number, id)) {
        mpr_texts_set(&r->names, id, data, bytes);
        return;
    }
    char *plain = mpr_alloc(bytes, 1);
    const size_t length = mpr_traceme_plain((const char *)data, bytes, plain);
    mpr_texts_set(&r->names, id, (const uint8_t *)plain, length);
    if (mpr_index_get(&r->names.number, id)) { /* it was not dropped */
        uint64_t hash = length;
        uint32_t first = 0;
        for (size_t i = 0; i < length; i++) hash = mpr_hash(hash ^ (uint8_t)plain[i]);
        MPR_INDEX_EACH(number, &r->plain, hash) {
            size_t known_length;
            const char *known = mpr_texts_get(&r->names, number - 1, &known_length);
            if (known_length == length && memcmp(known, plain, length) == 0) first = number;
        }
        if (first) mpr_index_set(&r->same, id, first);
        else mpr_index_add(&r->plain, hash, id + 1);
    }
    free(plain);
}

/* ---- frames of Python */

uint32_t mpr_ranges_add_frame(struct mpr_ranges *r, const struct mpr_python_frame *frame)
{
    const size_t function = strlen(frame->function) + 1, bytes = function + strlen(frame->file);
    const uint32_t name = MPR_FRAME_NAME + r->frames;
    char *data = mpr_alloc(bytes + 1, 1);
    memcpy(data, frame->function, function);
    strcpy(data + function, frame->file);
    mpr_texts_set(&r->names, name, (const uint8_t *)data, bytes);
    free(data);
    *MPR_ADD(r->line, r->frames, r->frame_cap) = frame->line;
    return name;
}

struct mpr_python_frame mpr_ranges_frame(const struct mpr_ranges *r, uint32_t name)
{
    size_t bytes;
    const uint32_t frame = name - MPR_FRAME_NAME;
    const char *function = frame < r->frames ? mpr_texts_get(&r->names, name, &bytes) : NULL;
    if (!function) return (struct mpr_python_frame){ NULL, "", 0 };
    const size_t length = strlen(function);
    return (struct mpr_python_frame){ function, length < bytes ? function + length + 1 : "",
                                      r->line[frame] };
}

/* Returns the path below a folder of installed packages, or from that folder on if the package is a
 * single file.  NULL if the path does not have the folder. */
static const char *in_packages(const char *path, const char *folder)
{
    const char *at = NULL;
    for (const char *next = path; (next = strstr(next, folder)); next++) at = next;
    if (!at) return NULL;
    const char *package = at + strlen(folder);
    return strchr(package, '/') ? package : at + 1;
}

/* Returns the path from "python3.12/" on, or NULL if that is not in this folder of libraries. */
static const char *in_library(const char *path, const char *folder)
{
    const char *at = strstr(path, folder);
    if (!at) return NULL;
    const char *version = at + strlen(folder);
    const size_t digits = strspn(version, "0123456789");
    return digits && version[digits] == '/' ? version - strlen("python3.") : NULL;
}

const char *mpr_python_file(const char *path)
{
    const char *library = in_packages(path, "/site-packages/");
    if (!library) library = in_packages(path, "/dist-packages/");
    if (!library) library = in_library(path, "/lib/python3.");
    if (!library) library = in_library(path, "/lib64/python3.");
    if (library) return library;
    const char *name = mpr_basename(path);
    const size_t before = (size_t)(name - path), bin = strlen("/bin/");
    const bool is_script =
        before >= bin && *name && !strchr(name, '.') && strncmp(name - bin, "/bin/", bin) == 0;
    return is_script ? name - bin + 1 : name; /* "bin/torchrun", which pip wrote */
}

/* ---- the tree */

void mpr_ranges_init(struct mpr_ranges *r)
{
    *r = (struct mpr_ranges){ 0 };
    *MPR_ADD(r->node, r->nodes, r->node_cap) = (struct mpr_node){ 0 };
}

void mpr_ranges_free(struct mpr_ranges *r)
{
    free_texts(&r->names);
    free_texts(&r->domains);
    mpr_index_free(&r->plain);
    mpr_index_free(&r->same);
    mpr_index_free(&r->number);
    free(r->node);
    free(r->line);
}

uint32_t mpr_ranges_child(struct mpr_ranges *r, uint32_t parent, uint32_t name, uint32_t domain)
{
    const uint64_t hash = mpr_hash((uint64_t)name << 32 | parent) + domain;
    MPR_INDEX_EACH(number, &r->number, hash) {
        const struct mpr_node *node = &r->node[number];
        if (node->parent == parent && node->name == name && node->domain == domain) return number;
    }
    if (r->node[parent].depth == MPR_PATH_MAX) return parent;
    MPR_GROW(r->node, r->nodes, r->node_cap);
    r->node[r->nodes] = (struct mpr_node){ parent, name, domain, r->node[parent].depth + 1 };
    mpr_index_add(&r->number, hash, r->nodes);
    return r->nodes++;
}
