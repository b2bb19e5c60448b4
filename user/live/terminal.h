/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * terminal.h - takes over a terminal for a screen, and restores it.
 *
 * A screen runs in its own process: its parent restores the terminal however that process ends,
 * even by a crash.
 */
#ifndef TACHBPF_LIVE_TERMINAL_H
#define TACHBPF_LIVE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if stdin and stdout are a terminal that supports escape sequences (TERM). */
bool terminal_is_there(void);

/* Returns its size; 24 lines of 80 if unknown. */
void terminal_size(size_t *rows, size_t *columns);

/*
 * Runs screen(ctx) in a child, once in the life of a process. Its standard error is held back, and
 * written when the terminal is restored; a signal to this process is passed to the child. Returns
 * the result of screen(), 0 to 125; -EINTR: SIGINT, SIGTERM or SIGHUP ended the child; -EFAULT:
 * another signal did, which was logged; another -errno: the child could not run (logged). After
 * TERMINAL_AGAIN screen(ctx) runs again, in another child.
 */
#define TERMINAL_AGAIN 125
int terminal_run(int (*screen)(void *ctx), void *ctx);

/* In the child: returns true if the terminal has gone, so that no key will come. */
bool terminal_has_gone(void);

/* In the child: returns true if the size has changed since the last call. */
bool terminal_resized(void);

/* In the child: returns the last line of its standard error; "": none. */
void terminal_last_message(char *out, size_t size);

#endif
