/* Our declarations of NVTX's interface agree with the toolkit's headers. The test is that this file
 * compiles. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "nvtx/nvtx_abi.h"

#define SAME_FIELD(ours, a, theirs, b)                                                             \
    static_assert(offsetof(ours, a) == offsetof(theirs, b) &&                                      \
                      sizeof(((ours *)0)->a) == sizeof(((theirs *)0)->b),                          \
                  #a)

#define X(number, name, result, parameters) static_assert(NVTX_CBID_CORE_##name == (number), #name);
NVTX_CORE(X)
#undef X
#define X(number, name, result, parameters)                                                        \
    static_assert(NVTX_CBID_CORE2_##name == (number), #name);
NVTX_CORE2(X)
#undef X
#define X(number, name, result, parameters)                                                        \
    static_assert(NVTX3EXT_CBID_nvtx##name == (number), #name);
NVTX_PAYLOAD_EXTENSION(X)
#undef X

static_assert((int)NVTX_MODULE_CORE == (int)NVTX_CB_MODULE_CORE &&
                  (int)NVTX_MODULE_CORE2 == (int)NVTX_CB_MODULE_CORE2,
              "modules");
static_assert(NVTX_TABLE_CALLBACKS == NVTX_ETID_CALLBACKS, "export table");
static_assert(sizeof(struct nvtx_callbacks) == sizeof(NvtxExportTableCallbacks), "callbacks");
SAME_FIELD(struct nvtx_callbacks, module_table, NvtxExportTableCallbacks, GetModuleFunctionTable);

static_assert((int)NVTX_MESSAGE_ASCII == (int)NVTX_MESSAGE_TYPE_ASCII &&
                  (int)NVTX_MESSAGE_UNICODE == (int)NVTX_MESSAGE_TYPE_UNICODE &&
                  (int)NVTX_MESSAGE_REGISTERED == (int)NVTX_MESSAGE_TYPE_REGISTERED,
              "messages");
static_assert(sizeof(struct nvtx_event) == sizeof(nvtxEventAttributes_t), "event");
SAME_FIELD(struct nvtx_event, bytes, nvtxEventAttributes_t, size);
SAME_FIELD(struct nvtx_event, payload_type, nvtxEventAttributes_t, payloadType);
SAME_FIELD(struct nvtx_event, payloads, nvtxEventAttributes_t, reserved0);
SAME_FIELD(struct nvtx_event, payload, nvtxEventAttributes_t, payload);
SAME_FIELD(struct nvtx_event, message_type, nvtxEventAttributes_t, messageType);
SAME_FIELD(struct nvtx_event, message, nvtxEventAttributes_t, message);

static_assert(NVTX_PAYLOADS == NVTX_PAYLOAD_TYPE_EXT, "payload type");
static_assert(sizeof(struct nvtx_payload) == sizeof(nvtxPayloadData_t), "payload");
SAME_FIELD(struct nvtx_payload, schema, nvtxPayloadData_t, schemaId);
SAME_FIELD(struct nvtx_payload, bytes, nvtxPayloadData_t, size);
SAME_FIELD(struct nvtx_payload, data, nvtxPayloadData_t, payload);

static_assert(NVTX_SCHEMA_HAS_ID == NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID, "schema");
static_assert(NVTX_ENUM_HAS_ID == NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID, "enum");
static_assert(NVTX_SCHEMA_DYNAMIC == NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START, "dynamic ids");
SAME_FIELD(struct nvtx_schema, fields, nvtxPayloadSchemaAttr_t, fieldMask);
SAME_FIELD(struct nvtx_schema, id, nvtxPayloadSchemaAttr_t, schemaId);
SAME_FIELD(struct nvtx_schema_entry, type, nvtxPayloadSchemaEntry_t, type);
SAME_FIELD(struct nvtx_schema_entry, name, nvtxPayloadSchemaEntry_t, name);
SAME_FIELD(struct nvtx_schema_entry, offset, nvtxPayloadSchemaEntry_t, offset);
static_assert(sizeof(struct nvtx_schema_entry) == sizeof(nvtxPayloadSchemaEntry_t), "schema entry");
SAME_FIELD(struct nvtx_schema, entries, nvtxPayloadSchemaAttr_t, entries);
SAME_FIELD(struct nvtx_schema, entry_count, nvtxPayloadSchemaAttr_t, numEntries);
SAME_FIELD(struct nvtx_enum, fields, nvtxPayloadEnumAttr_t, fieldMask);
SAME_FIELD(struct nvtx_enum, id, nvtxPayloadEnumAttr_t, schemaId);

static_assert(NVTX_EXTENSION_PAYLOAD == NVTX_EXT_PAYLOAD_MODULEID, "module");
static_assert(sizeof(struct nvtx_extension) == sizeof(nvtxExtModuleInfo_t), "extension");
SAME_FIELD(struct nvtx_extension, bytes, nvtxExtModuleInfo_t, structSize);
SAME_FIELD(struct nvtx_extension, module, nvtxExtModuleInfo_t, moduleId);
SAME_FIELD(struct nvtx_extension, segments, nvtxExtModuleInfo_t, segmentsCount);
SAME_FIELD(struct nvtx_extension, segment, nvtxExtModuleInfo_t, segments);
SAME_FIELD(struct nvtx_segment, slots, nvtxExtModuleSegment_t, slotCount);
SAME_FIELD(struct nvtx_segment, slot, nvtxExtModuleSegment_t, functionSlots);

#ifdef NVTX_MEMORY
#include <nvtx3/nvToolsExtMem.h>

#define X(number, name, result, parameters)                                                        \
    static_assert(NVTX3EXT_CBID_nvtx##name == (number), #name);
NVTX_MEMORY_EXTENSION(X)
#undef X

static_assert(NVTX_EXTENSION_MEMORY == NVTX_EXT_MODULEID_MEM, "module");
static_assert(NVTX_MEMORY_COMPATIBLE == NVTX_EXT_COMPATID_MEM, "version");
static_assert(NVTX_VIRTUAL_ADDRESS == NVTX_MEM_TYPE_VIRTUAL_ADDRESS, "type");
static_assert((int)NVTX_BY_ADDRESS == NVTX_MEM_REGION_REF_TYPE_POINTER &&
                  (int)NVTX_BY_HANDLE == NVTX_MEM_REGION_REF_TYPE_HANDLE,
              "references");
SAME_FIELD(struct nvtx_extension, compatible, nvtxExtModuleInfo_t, compatId);
SAME_FIELD(struct nvtx_range, bytes, nvtxMemVirtualRangeDesc_t, size);
SAME_FIELD(struct nvtx_range, at, nvtxMemVirtualRangeDesc_t, ptr);
static_assert(sizeof(struct nvtx_range) == sizeof(nvtxMemVirtualRangeDesc_t), "range");

static_assert(sizeof(struct nvtx_heap) == sizeof(nvtxMemHeapDesc_t), "heap");
SAME_FIELD(struct nvtx_heap, head.compatible, nvtxMemHeapDesc_t, extCompatID);
SAME_FIELD(struct nvtx_heap, head.bytes, nvtxMemHeapDesc_t, structSize);
SAME_FIELD(struct nvtx_heap, type, nvtxMemHeapDesc_t, type);
SAME_FIELD(struct nvtx_heap, of_bytes, nvtxMemHeapDesc_t, typeSpecificDescSize);
SAME_FIELD(struct nvtx_heap, range, nvtxMemHeapDesc_t, typeSpecificDesc);
SAME_FIELD(struct nvtx_heap, message_type, nvtxMemHeapDesc_t, messageType);
SAME_FIELD(struct nvtx_heap, message, nvtxMemHeapDesc_t, message);

static_assert(sizeof(struct nvtx_regions) == sizeof(nvtxMemRegionsRegisterBatch_t), "regions");
SAME_FIELD(struct nvtx_regions, head.kind, nvtxMemRegionsRegisterBatch_t, regionType);
SAME_FIELD(struct nvtx_regions, heap, nvtxMemRegionsRegisterBatch_t, heap);
SAME_FIELD(struct nvtx_regions, count, nvtxMemRegionsRegisterBatch_t, regionCount);
SAME_FIELD(struct nvtx_regions, element_bytes, nvtxMemRegionsRegisterBatch_t,
           regionDescElementSize);
SAME_FIELD(struct nvtx_regions, elements, nvtxMemRegionsRegisterBatch_t, regionDescElements);
SAME_FIELD(struct nvtx_regions, handles, nvtxMemRegionsRegisterBatch_t, regionHandleElementsOut);

static_assert(sizeof(struct nvtx_resizes) == sizeof(nvtxMemRegionsResizeBatch_t), "resizes");
SAME_FIELD(struct nvtx_resizes, head.kind, nvtxMemRegionsResizeBatch_t, regionType);
SAME_FIELD(struct nvtx_resizes, count, nvtxMemRegionsResizeBatch_t, regionDescCount);
SAME_FIELD(struct nvtx_resizes, elements, nvtxMemRegionsResizeBatch_t, regionDescElements);

static_assert(sizeof(struct nvtx_references) == sizeof(nvtxMemRegionsUnregisterBatch_t),
              "references");
SAME_FIELD(struct nvtx_references, head.kind, nvtxMemRegionsUnregisterBatch_t, refType);
SAME_FIELD(struct nvtx_references, count, nvtxMemRegionsUnregisterBatch_t, refCount);
SAME_FIELD(struct nvtx_references, elements, nvtxMemRegionsUnregisterBatch_t, refElements);

static_assert(sizeof(struct nvtx_region_name) == sizeof(nvtxMemRegionNameDesc_t), "name");
SAME_FIELD(struct nvtx_region_name, reference, nvtxMemRegionNameDesc_t, regionRefType);
SAME_FIELD(struct nvtx_region_name, message_type, nvtxMemRegionNameDesc_t, nameType);
SAME_FIELD(struct nvtx_region_name, region, nvtxMemRegionNameDesc_t, region);
SAME_FIELD(struct nvtx_region_name, message, nvtxMemRegionNameDesc_t, name);
static_assert(sizeof(struct nvtx_names) == sizeof(nvtxMemRegionsNameBatch_t), "names");
SAME_FIELD(struct nvtx_names, count, nvtxMemRegionsNameBatch_t, regionCount);
SAME_FIELD(struct nvtx_names, elements, nvtxMemRegionsNameBatch_t, regionElements);
#endif
