/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * terminal.h - takes a terminal for a screen, and gives it back as it was.
 *
 * A screen runs in a process of its own: its parent has the terminal, and gives it back however that
 * process ends, also by a crash.
 */
#ifndef TACHBPF_LIVE_TERMINAL_H
#define TACHBPF_LIVE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Are standard input and standard output a terminal that understands sequences (TERM)? */
bool terminal_is_there(void);

/* How large it is; 24 lines of 80 if it does not say. */
void terminal_size(size_t *rows, size_t *columns);

/*
 * Run screen(ctx) in a child, once in the life of a process. Its standard error is kept, and written when the terminal is as before; a
 * signal to this process goes to the child. Returns what screen() has returned, 0 to 125;
 * -EINTR: SIGINT, SIGTERM or SIGHUP ended the child; -EFAULT: another signal did, which was logged;
 * other -errno: the child could not run (logged). After TERMINAL_AGAIN screen(ctx) runs again, in another
 * child.
 */
#define TERMINAL_AGAIN 125
int terminal_run(int (*screen)(void *ctx), void *ctx);

/* In the child: has the terminal gone, so that no key will come? */
bool terminal_has_gone(void);

/* In the child: has the size changed since the last call? */
bool terminal_resized(void);

/* In the child: the last line of its standard error; "": none. */
void terminal_last_message(char *out, size_t size);

#endif
