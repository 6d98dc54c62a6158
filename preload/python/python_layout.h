/* The layout of CPython's objects. Builds without the interpreter's lock and debug builds have
 * other layouts, which are unknown. */
#ifndef MP_PYTHON_LAYOUT_H
#define MP_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* The format of line tables in a code object: pairs of bytes (up to 3.9; 3.10), or PEP 626's
 * locations. */
enum mp_python_lines { MP_PYTHON_PAIRS, MP_PYTHON_RANGES, MP_PYTHON_LOCATIONS };

/* Offsets in bytes. */
struct mp_python_layout {
    uint16_t version; /* major << 8 | minor */
    uint8_t lines;    /* enum mp_python_lines */
    /* PyThreadState: offset of its frame, or of the cframe that refers to it. */
    uint8_t state_frame;
    bool cframe;
    uint8_t cframe_frame;
    uint8_t frame_code, frame_previous;
    uint8_t frame_instr; /* before 3.11 an index as int, since then a pointer */
    uint8_t frame_owner; /* 0 if all frames are Python's */
    uint16_t frame_locals;
    uint8_t code_start, code_first_line, code_lines, code_name, code_file;
    uint8_t code_arguments, code_locals; /* number of arguments; a tuple of the locals' names */
    uint8_t ascii, compact;              /* sizes of the heads of strings */
    uint8_t items;                       /* offset of a tuple's items */
    uint8_t values_head; /* bytes before the values of a dict that shares its keys */
};

/* The same in all versions. */
enum { MP_PYTHON_TYPE = 8, MP_PYTHON_SIZE = 16, MP_PYTHON_BYTES = 32, MP_PYTHON_TEXT_STATE = 32 };

/* Gets the layout of a version (major << 8 | minor). Returns false if it is unknown. Since 3.13 the
 * interpreter's _PyRuntime, `runtime`, begins with a description, which must exist and be
 * consistent. */
bool mp_python_layout(unsigned version, const uint64_t *runtime, struct mp_python_layout *out);

#endif
