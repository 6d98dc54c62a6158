/* The calls that the chained library received. */
#ifndef NVTX_TEST_TOOL_H
#define NVTX_TEST_TOOL_H

#define TOOL_RANGE 0x70071
struct tool_seen {
    int pushes, pops, domain_known, string_known;
    unsigned category;
};

#endif
