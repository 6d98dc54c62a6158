#ifndef CHAIN_H
#define CHAIN_H

#pragma GCC visibility push(default)
void chained(char *out); /* appends the letters of the libraries */
const char *lost_by_a(void);
const char *lost_by_b(void);
const char *lost_by_c(void);
#pragma GCC visibility pop

#endif
