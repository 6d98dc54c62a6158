#include "screen.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l" /* the other page of the terminal, no cursor */
#define LEAVE "\033[?25h\033[?1049l"
#define HOME  "\033[H"
#define CLEAR "\033[K" /* to the end of the line; below it: */
#define BELOW "\033[J"

static struct {
    bool open, keys;
    struct termios before;
    sigset_t mask; /* while it waits */
} screen;
static volatile sig_atomic_t ended;

static void on_end(int number) { ended = number; }
static void on_size(int number) { (void)number; }

/* Signals come while it waits, and at no other time. */
static void take_signals(void)
{
    const struct sigaction end = { .sa_handler = on_end }, size = { .sa_handler = on_size };
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGWINCH);
    sigaction(SIGWINCH, &size, NULL);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        sigaction(ends[i], &end, NULL);
        sigaddset(&blocked, ends[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, &screen.mask);
}

static void take_keys(void)
{
    struct termios raw;
    screen.keys = tcgetattr(STDIN_FILENO, &screen.before) == 0;
    if (!screen.keys) return;
    raw = screen.before;
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* stopped it would leave the terminal as it is */
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

void mpr_screen_open(void)
{
    take_signals();
    take_keys();
    screen.open = true;
    atexit(mpr_screen_close);
    fputs(ENTER, stdout);
    fflush(stdout);
}

void mpr_screen_close(void)
{
    if (!screen.open) return;
    screen.open = false;
    if (screen.keys) tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
    fputs(LEAVE, stdout);
    fflush(stdout);
    sigprocmask(SIG_SETMASK, &screen.mask, NULL);
}

static struct winsize size(void)
{
    struct winsize s = { 0 };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &s) != 0 || !s.ws_col || !s.ws_row)
        return (struct winsize){ .ws_col = 80, .ws_row = 24 };
    return s;
}

int mpr_screen_width(void) { return size().ws_col; }

void mpr_screen_draw(const char *text)
{
    fputs(HOME, stdout);
    for (unsigned row = 0, rows = size().ws_row; row < rows && *text; row++) {
        const size_t length = strcspn(text, "\n");
        printf("%s%.*s" CLEAR, row ? "\r\n" : "", (int)length, text);
        text += length + (text[length] == '\n');
    }
    fputs(BELOW, stdout);
    fflush(stdout);
}

int mpr_screen_wait(long ms)
{
    struct pollfd keys = { .fd = screen.keys ? STDIN_FILENO : -1, .events = POLLIN };
    const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
    char key = 0;
    const int ready = ppoll(&keys, 1, &time, &screen.mask);
    if (ended) return 'q';
    if (ready <= 0) return 0;
    return read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
}
