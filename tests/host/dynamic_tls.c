/* A library whose thread-local storage the C library takes from malloc, for each thread that asks.
 */
static __thread char area[900];

char *dynamic_tls_area(void);
char *dynamic_tls_area(void) { return area; }
