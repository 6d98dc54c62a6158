/* A terminal that shows one text after the other in place, and takes keys. */
#ifndef MPR_SCREEN_H
#define MPR_SCREEN_H

#include <stdbool.h>

/* Takes the terminal until mpr_screen_close, which each end of the process comes to but a SIGKILL;
 * SIGINT, SIGTERM and SIGHUP are for mpr_screen_wait from then on. */
void mpr_screen_open(void);
void mpr_screen_close(void);
/* As many columns as the terminal has. */
int mpr_screen_width(void);
/* Lines beyond the last one of the terminal are left out. */
void mpr_screen_draw(const char *text);
/* Waits for a key: it; 0: so long nobody pressed one, or the terminal's size has changed; 'q' for a
 * signal that ends. */
int mpr_screen_wait(long ms);

#endif
