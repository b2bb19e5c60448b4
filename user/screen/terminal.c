// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* terminal.c - see terminal.h. */
#include "screen/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/util.h"

/* The screen beside the normal one, no cursor, no line breaks; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[H\033[2J"
#define LEAVE "\033[0m\033[?7h\033[?25h\033[?1049l"

static volatile sig_atomic_t child, resized;

static void forward(int sig)
{
	if (child)
		kill((pid_t)child, sig);
}

static void on_resize(int sig)
{
	resized = 1;
}

bool terminal_is_there(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

void terminal_size(size_t *rows, size_t *columns)
{
	struct winsize size;
	bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col;

	*rows = known ? size.ws_row : 24;
	*columns = known ? size.ws_col : 80;
}

bool terminal_resized(void)
{
	bool was = resized;

	resized = 0;
	return was;
}

static void say(const char *sequence)
{
	if (write(STDOUT_FILENO, sequence, strlen(sequence)) < 0)
		log_debug("the terminal has gone: %s", strerror(errno));
}

/* Keys come at once and are not shown; Ctrl-C stays a signal, Ctrl-Z and Ctrl-S do nothing. */
static void make_raw(const struct termios *before)
{
	struct termios raw = *before;

	raw.c_lflag &= ~(ICANON | ECHO | IEXTEN);
	raw.c_iflag &= ~(IXON | ICRNL | INLCR);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	raw.c_cc[VSUSP] = _POSIX_VDISABLE;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
}

static int run_child(int (*screen)(void *ctx), void *ctx, int messages)
{
	struct sigaction sa = { .sa_handler = on_resize };
	int status;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	child = 0;
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	sigaction(SIGWINCH, &sa, NULL);
	dup2(messages, STDERR_FILENO);
	status = screen(ctx);
	fflush(NULL);
	return status;
}

/* How the child ended, as terminal_run() returns it. */
static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	switch (WTERMSIG(status)) {
	case SIGINT:
	case SIGTERM:
	case SIGHUP:
		return -EINTR;
	}
	log_error("the screen was ended by signal %d (%s)", WTERMSIG(status),
		  strsignal(WTERMSIG(status)));
	return -EFAULT;
}

static void print_messages(int fd)
{
	char text[4096];
	ssize_t n;
	off_t at = 0;

	while ((n = pread(fd, text, sizeof(text), at)) > 0) {
		if (write(STDERR_FILENO, text, (size_t)n) != n)
			break;
		at += n;
	}
	close(fd);
}

void terminal_last_message(char *out, size_t size)
{
	char text[512];
	off_t end = lseek(STDERR_FILENO, 0, SEEK_CUR), from;
	ssize_t n;
	char *last;

	*out = '\0';
	if (end <= 0)
		return;
	from = end < (off_t)sizeof(text) ? 0 : end - (off_t)sizeof(text) + 1;
	n = pread(STDERR_FILENO, text, sizeof(text) - 1, from);
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n <= 0)
		return;
	text[n] = '\0';
	last = strrchr(text, '\n');
	snprintf(out, size, "%s", last ? last + 1 : text);
}

int terminal_run(int (*screen)(void *ctx), void *ctx)
{
	struct sigaction sa = { .sa_handler = forward }, was[3];
	const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	int messages = memfd_create("messages", MFD_CLOEXEC), result = 0;
	struct termios before;
	size_t i;
	pid_t pid;

	if (messages < 0 || tcgetattr(STDIN_FILENO, &before)) {
		result = -errno;
		log_error("cannot use the terminal: %s", strerror(-result));
		return result;
	}
	fflush(NULL);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &sa, &was[i]);
	make_raw(&before);
	say(ENTER);
	do {
		pid = fork();
		if (!pid)
			_exit(run_child(screen, ctx, messages));
		child = pid > 0 ? pid : 0;
		result = pid > 0 ? wait_for(pid) : -errno;
		child = 0;
	} while (result == TERMINAL_AGAIN);
	say(LEAVE);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &was[i], NULL);
	if (pid < 0)
		log_error("cannot begin the screen: %s", strerror(-result));
	print_messages(messages);
	return result;
}
