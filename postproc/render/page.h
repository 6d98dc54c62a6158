/* The page's template, built by viewer/ and embedded: HTML with places that are filled in. */
#ifndef MPR_PAGE_H
#define MPR_PAGE_H

#include <stddef.h>

/* size 0: memprof-report was built without Node. */
extern const char mpr_page[];
extern const size_t mpr_page_bytes;

#endif
