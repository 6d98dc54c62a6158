/* A library that unit_preload_symbol opens at run time. */
__attribute__((visibility("default"))) int late_function(void);
int late_function(void) { return 1; }
