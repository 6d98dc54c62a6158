#include "startup.h"

#include <string.h>

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool loads(const struct mpr_frame *frame)
{
    static const char *const loader[] = { "dlopen",        "dl_open_worker",      "cuModuleLoad",
                                          "cuLibraryLoad", "cuModuleGetFunction", "cuLibraryGet" };
    for (size_t i = 0; i < sizeof loader / sizeof *loader; i++)
        if (begins(frame->name, loader[i])) return true;
    return false;
}

/* Python's import runs the bodies of modules below its own frames. */
bool mpr_startup_loads(const struct mpr_row *row)
{
    bool imports = false;
    for (size_t i = 0; i < row->path.depth; i++) {
        const struct mpr_frame *frame = row->path.frame[i];
        const bool importer = begins(frame->file, "<frozen importlib");
        if (loads(frame)) return true;
        imports = importer || (imports && strcmp(frame->name, "<module>") == 0);
    }
    return imports;
}

void mpr_startup_leave_out(struct mpr_leaks_heap *h)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->growings; i++)
        if (!mpr_startup_loads(&h->growing[i].row)) h->growing[kept++] = h->growing[i];
    h->growings = kept;
}
