/* Makes seeds from a log. pack_log COMMAND LOG >SEED: a seed for the fuzzer of reports (packed.h).
 * pack_log --bodies header|columns LOG NAME: a file for the body of each frame of that kind. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "frames.h"
#include "map.h"
#include "packed.h"

static void open_log(struct mpr_frames *frames, struct mpr_map *map, const char *path)
{
    struct mpr_error error;
    if (mpr_map_open(map, path, &error) != 0 || mpr_frames_open(frames, map) != 0)
        errx(1, "%s: not to be read", path);
}

static void put(FILE *file, const uint8_t *data, size_t size)
{
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) err(1, "a seed");
}

static void pack(struct mpr_frames *frames, const char *command)
{
    static uint8_t out[PACKED_MAX];
    struct mpf_frame f;
    size_t size = 1;
    out[0] = (uint8_t)atoi(command);
    while (mpr_frames_next(frames, &f) == 1) {
        const size_t longer = packed_add(out, size, sizeof out, f.kind, f.body, f.body_bytes);
        if (longer) size = longer;
    }
    put(stdout, out, size);
}

static void bodies(struct mpr_frames *frames, const char *kind, const char *name)
{
    const uint8_t wanted = strcmp(kind, "header") == 0 ? MPF_FRAME_HEADER : MPF_FRAME_EVENTS;
    struct mpf_frame f;
    while (mpr_frames_next(frames, &f) == 1) {
        char path[4096];
        if (f.kind != wanted) continue;
        snprintf(path, sizeof path, "%s.%llu", name, (unsigned long long)f.seq);
        put(fopen(path, "wbe"), f.body, f.body_bytes);
    }
}

int main(int argc, char **argv)
{
    struct mpr_map map;
    struct mpr_frames frames;
    const bool of_bodies = argc == 5 && strcmp(argv[1], "--bodies") == 0;
    if (argc != 3 && !of_bodies) errx(2, "usage: pack_log COMMAND LOG, or --bodies KIND LOG NAME");
    open_log(&frames, &map, argv[of_bodies ? 3 : 2]);
    if (of_bodies) bodies(&frames, argv[2], argv[4]);
    else pack(&frames, argv[1]);
    mpr_frames_close(&frames);
    mpr_map_close(&map);
    return 0;
}
