/* A program that uses the toolkit's NVTX 3, and checks the range levels that it gets. argv[1]:
 * "inert" if no tool must be active. Exits with the number of the first check that failed. */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

static int failed;
static int checks;
static void check(int ok)
{
    checks++;
    if (!ok && !failed) failed = checks;
}

int main(int argc, char **argv)
{
    const int inert = argc > 1 && strcmp(argv[1], "inert") == 0;
    const int outer = nvtxRangePushA("outer");
    check(outer == (inert ? NVTX_NO_PUSH_POP_TRACKING : 0));
    if (inert) return failed;

    const nvtxDomainHandle_t domain = nvtxDomainCreateA("emitter");
    check(domain != NULL);
    check(nvtxDomainIsEnabled(domain) == 1);
    nvtxEventAttributes_t e = { .version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE };
    e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    e.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    check(e.message.registered != NULL);
    check(nvtxDomainRangePushEx(domain, &e) == 0);
    check(nvtxRangePushW(L"inner") == 1);
    const int value = 42;
    const nvtxPayloadData_t payload = { NVTX_PAYLOAD_ENTRY_TYPE_INT32, sizeof value, &value };
    check(nvtxRangePushPayload(domain, &payload, 1) == 1);
    check(nvtxRangePopPayload(domain, NULL, 0) == 1);
    check(nvtxRangePopPayload(domain, NULL, 0) == 0);
    check(nvtxRangePop() == 1);
    check(nvtxRangePop() == 0);
    check(nvtxRangePop() < 0);
    const nvtxRangeId_t range = nvtxDomainRangeStartEx(domain, &e);
    check(range != 0);
    nvtxDomainRangeEnd(domain, range);
    nvtxMarkA("mark");
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "main");
    nvtxDomainDestroy(domain);
    return failed;
}
