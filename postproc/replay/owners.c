#include "owners.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "room.h"

void mpr_owners_free(struct mpr_owners *o)
{
    for (size_t i = 0; i < o->modules; i++) free(o->module[i].name);
    for (size_t i = 0; i < o->files; i++) free(o->file[i].name);
    free(o->module);
    free(o->file);
    mpr_notes_free(&o->stacks);
}

/* ---- object files */

/* Index of the first module that begins after the address. */
static size_t first_after(const struct mpr_owners *o, uint64_t address)
{
    size_t low = 0, high = o->modules;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (o->module[mid].from > address) high = mid;
        else low = mid + 1;
    }
    return low;
}

/* Data: u64 end, u64 bytes of the build id, the id, the path.  A module at the place of an unloaded one replaces it. */
void mpr_owners_module(struct mpr_owners *o, uint64_t from, const uint8_t *data, size_t bytes)
{
    uint64_t head[2];
    if (bytes < sizeof head) return;
    memcpy(head, data, sizeof head);
    if (head[1] > bytes - sizeof head) return;
    const char *path = (const char *)data + sizeof head + head[1];
    char *name = strndup(path, bytes - sizeof head - head[1]);
    if (!name) return;
    const size_t at = first_after(o, from);
    if (at && o->module[at - 1].from == from) {
        free(o->module[at - 1].name);
        o->module[at - 1] = (struct mpr_module){ from, head[0], name };
        return;
    }
    struct mpr_module *module = mpr_room(o->module, o->modules, &o->module_cap, sizeof *module);
    if (!module) {
        free(name);
        return;
    }
    o->module = module;
    memmove(module + at + 1, module + at, (o->modules++ - at) * sizeof *module);
    module[at] = (struct mpr_module){ from, head[0], name };
}

static const struct mpr_module *module_at(const struct mpr_owners *o, uint64_t address)
{
    const size_t at = first_after(o, address);
    return at && address < o->module[at - 1].to ? &o->module[at - 1] : NULL;
}

/* ---- owners */

static bool starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* The file's name up to ".so": versions and hashes do not tell libraries apart. */
static size_t short_name(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    const char *so = strstr(*name, ".so");
    return so ? (size_t)(so - *name) : strlen(*name);
}

static bool is_between(const char *name)
{
    return starts(name, "libcuda.") || starts(name, "libcudart") || starts(name, "libcuda-") || starts(name, "libcupti") ||
           starts(name, "libmemprof") || starts(name, "libcudadebugger");
}

static enum mpr_owner kind_of(const char *name)
{
    if (starts(name, "libc10_cuda")) return MPR_OWNER_TORCH;
    if (starts(name, "libnccl")) return MPR_OWNER_NCCL;
    return strstr(name, ".so") ? MPR_OWNER_LIBRARY : MPR_OWNER_PROGRAM;
}

static uint32_t file_number(struct mpr_owners *o, const char *path)
{
    const char *name;
    const size_t length = short_name(path, &name);
    for (size_t i = 0; i < o->files; i++)
        if (strlen(o->file[i].name) == length && memcmp(o->file[i].name, name, length) == 0) return (uint32_t)i + 1;
    struct mpr_file *file = mpr_room(o->file, o->files, &o->file_cap, sizeof *file);
    if (!file) return 0;
    o->file = file;
    char *copy = strndup(name, length);
    if (!copy) return 0;
    file[o->files++] = (struct mpr_file){ copy, kind_of(name) };
    return (uint32_t)o->files;
}

#define NOBODY UINT32_MAX

/* Return addresses point behind the call: one byte earlier is inside it. */
static uint32_t look_up(struct mpr_owners *o, const struct mpr_note *stack)
{
    for (size_t i = 0; i < stack->bytes / sizeof(uint64_t); i++) {
        const struct mpr_module *m = module_at(o, mpr_note_word(stack, i) - 1);
        const char *name;
        if (!m) continue;
        short_name(m->name, &name);
        if (!is_between(name)) return file_number(o, m->name);
    }
    return 0;
}

uint32_t mpr_owners_of(struct mpr_owners *o, uint64_t stack)
{
    struct mpr_note *note = stack ? mpr_notes_get(&o->stacks, stack) : NULL;
    if (!note) return 0;
    if (!note->value) {
        const uint32_t file = look_up(o, note);
        note->value = file ? file : NOBODY;
    }
    return note->value == NOBODY ? 0 : note->value;
}

enum mpr_owner mpr_owners_kind(const struct mpr_owners *o, uint32_t file)
{
    return file && file <= o->files ? o->file[file - 1].kind : MPR_OWNER_PROGRAM;
}

const char *mpr_owners_name(const struct mpr_owners *o, uint32_t file)
{
    return file && file <= o->files ? o->file[file - 1].name : NULL;
}
