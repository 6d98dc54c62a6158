/* JSON of a device's account.  Private to this layer. */
#ifndef MPR_DEVICE_JSON_H
#define MPR_DEVICE_JSON_H

#include "device.h"
#include "json.h"

/* Fields of the state, inside an object that the caller has opened. */
void mpr_device_state_json(struct mpr_json *j, const struct mpr_device_state *s, size_t top);
void mpr_device_json(struct mpr_json *j, const struct mpr_device *d, size_t top);

#endif
