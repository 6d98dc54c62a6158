/* The id of a run: a text that all logs of one run have in their headers (FORMAT.md), from the
 * variable MEMPROF_RUN. */
#ifndef MPF_RUN_ID_H
#define MPF_RUN_ID_H

#define MPF_RUN_ID 128 /* bytes, with the 0 at its end */

#define MPF_EXPECTED_RUN "1 to 127 bytes"

#endif
