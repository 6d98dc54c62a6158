/* A tool that subscribes to all callbacks and checks only their form. It tests the stand-ins and
 * does not use memprof.
 *
 * It writes these lines to the file TRACE_OUT:
 *   enter|exit THREAD CORRELATION NAME RESULT CONTEXT-UID
 *       a driver call; RESULT is -1 at the entry
 *   resource CBID
 *       a callback of the resource domain
 *   mark USED TEXT
 *       an NVTX mark, and the device's used bytes then
 *   bad WHAT
 *       a broken rule of CUPTI
 *   subscribe RESULT, refused NAME
 *       calls that CUPTI refused */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cupti.h>
#include <nvtx3/nvToolsExt.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjection(void);
EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

static FILE *out;

static CUptiResult (*subscribe)(CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *);
static CUptiResult (*enable)(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                             CUpti_CallbackId);
static CUptiResult (*name_of)(CUpti_CallbackDomain, uint32_t, const char **);
static CUresult (*memory_info)(size_t *, size_t *);

static void open_out(void)
{
    const char *path = getenv("TRACE_OUT");
    if (!out && path) out = fopen(path, "ae");
    if (!out) exit(125);
    setvbuf(out, NULL, _IOLBF, BUFSIZ); /* so that a forked child has no unwritten lines */
}

/* ---- callbacks ---- */

static void check_alloc(const CUpti_CallbackData *data)
{
    const cuMemAlloc_v2_params *p = data->functionParams;
    if (data->callbackSite == CUPTI_API_ENTER) return;
    const bool ok = *(const CUresult *)data->functionReturnValue == CUDA_SUCCESS;
    if (ok && (!*p->dptr || !p->bytesize)) fprintf(out, "bad cuMemAlloc_v2's parameters\n");
}

/* A tool's word is 0 at a call's entry. At its return it has the value that the tool stored. */
static void check_word(const CUpti_CallbackData *data)
{
    const uint64_t expected = data->callbackSite == CUPTI_API_ENTER ? 0 : data->correlationId;
    if (*data->correlationData != expected)
        fprintf(out, "bad correlationData of %s\n", data->functionName);
    *data->correlationData = data->correlationId;
}

static void on_call(CUpti_CallbackId cbid, const CUpti_CallbackData *data)
{
    const bool enter = data->callbackSite == CUPTI_API_ENTER;
    const char *name = NULL;
    if (name_of(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) != CUPTI_SUCCESS ||
        strcmp(name, data->functionName) != 0)
        fprintf(out, "bad name of %u: %s\n", cbid, data->functionName);
    if (!data->functionParams && cbid != CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize)
        fprintf(out, "bad %s has no parameters\n", name);
    check_word(data);
    if (cbid == CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2) check_alloc(data);
    fprintf(out, "%s %d %u %s %d %u\n", enter ? "enter" : "exit", gettid(), data->correlationId,
            data->functionName, enter ? -1 : (int)*(const CUresult *)data->functionReturnValue,
            data->contextUid);
}

static void on_callback(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                        const void *data)
{
    (void)userdata;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) on_call(cbid, data);
    else fprintf(out, "resource %u\n", cbid);
}

/* ---- subscribing ---- */

int InitializeInjection(void)
{
    open_out();
    void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
    if (!cupti) return 0;
    *(void **)&subscribe = dlsym(cupti, "cuptiSubscribe");
    *(void **)&enable = dlsym(cupti, "cuptiEnableCallback");
    *(void **)&name_of = dlsym(cupti, "cuptiGetCallbackName");
    *(void **)&memory_info = dlsym(RTLD_DEFAULT, "cuMemGetInfo_v2");
    CUpti_SubscriberHandle handle;
    const CUptiResult result = subscribe(&handle, on_callback, NULL);
    fprintf(out, "subscribe %d\n", result);
    for (unsigned i = 1; result == CUPTI_SUCCESS && i < CUPTI_DRIVER_TRACE_CBID_SIZE; i++) {
        const char *name;
        if (name_of(CUPTI_CB_DOMAIN_DRIVER_API, i, &name) != CUPTI_SUCCESS) continue;
        if (enable(1, handle, CUPTI_CB_DOMAIN_DRIVER_API, i) != CUPTI_SUCCESS)
            fprintf(out, "refused %s\n", name);
    }
    for (unsigned i = 1; result == CUPTI_SUCCESS && i < CUPTI_CBID_RESOURCE_SIZE; i++)
        enable(1, handle, CUPTI_CB_DOMAIN_RESOURCE, i);
    return 1;
}

static void on_mark(const char *text)
{
    size_t available = 0, total = 0;
    if (memory_info) memory_info(&available, &total);
    fprintf(out, "mark %zu %s\n", total - available, text);
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    open_out();
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned size;
    if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
        return 0;
    *table[NVTX_CBID_CORE_MarkA] = (NvtxFunctionPointer)on_mark;
    return 1;
}
