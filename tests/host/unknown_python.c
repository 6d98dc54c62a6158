/* An interpreter of an unknown version. It has CPython's functions, and frames that would crash a
 * reader. A missing function is not an error of the program. */
#include <dlfcn.h>
#include <stddef.h>

void memory_report(
    void *block, long bytes, unsigned long allocated, unsigned long reserved,
    unsigned long device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")
    __attribute__((weak));

char PyCode_Type, PyUnicode_Type, PyBytes_Type, PyTuple_Type, PyDict_Type, PyODict_Type;
void *PyGILState_GetThisThreadState(void);
const char *Py_GetVersion(void);

void *PyGILState_GetThisThreadState(void) { return (void *)16; }
const char *Py_GetVersion(void) { return "4.0.0 (of the future)"; }

int main(void)
{
    enum { BYTES = 2 << 20, CUDA = 1 };
    if (dlerror()) return 1;
    for (size_t i = 0; i < 2 && memory_report; i++)
        memory_report((char *)(0x7f0000000000 + i * BYTES), BYTES, BYTES, BYTES, CUDA);
    return 0;
}
