#include "python_file.h"

#include <stddef.h>
#include <string.h>

#include "basename.h"

/* What a folder of installed packages holds: with the folder where that is a single file. */
static const char *in_packages(const char *path, const char *folder)
{
    const char *at = NULL;
    for (const char *next = path; (next = strstr(next, folder)); next++) at = next;
    if (!at) return NULL;
    const char *package = at + strlen(folder);
    return strchr(package, '/') ? package : at + 1;
}

/* From "python3.12/" on, in a folder of libraries. */
static const char *in_library(const char *path, const char *folder)
{
    const char *at = strstr(path, folder);
    if (!at) return NULL;
    const char *version = at + strlen(folder);
    const size_t digits = strspn(version, "0123456789");
    return digits && version[digits] == '/' ? version - strlen("python3.") : NULL;
}

/* "bin/torchrun", which pip wrote. */
static const char *as_script(const char *path)
{
    static const char folder[] = "/bin/";
    const char *name = mpr_basename(path);
    const size_t before = (size_t)(name - path);
    if (!*name || strchr(name, '.') || before < strlen(folder)) return NULL;
    return strncmp(name - strlen(folder), folder, strlen(folder)) == 0 ? name - strlen(folder) + 1
                                                                       : NULL;
}

const char *mpr_python_file(const char *path)
{
    const char *library = in_packages(path, "/site-packages/");
    if (!library) library = in_packages(path, "/dist-packages/");
    if (!library) library = in_library(path, "/lib/python3.");
    if (!library) library = in_library(path, "/lib64/python3.");
    if (!library) library = as_script(path);
    return library ? library : mpr_basename(path);
}
