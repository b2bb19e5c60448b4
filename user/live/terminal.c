// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* terminal.c - see terminal.h. */
#include "live/terminal.h"

#include <errno.h>
#include <poll.h>
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

/* Switch to the alternate screen, without cursor or line wrap; and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[H\033[2J"
#define LEAVE "\033[0m\033[?7h\033[?25h\033[?1049l"

/* Signals that are passed to the child, and those of a crash. */
static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
static const int crashes[] = { SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS };

static volatile sig_atomic_t child, resized, ended;
static struct termios before;

static void forward_signal(int sig)
{
	ended = 1;
	if (child)
		kill((pid_t)child, sig);
}

/*
 * This process crashes: restores the terminal, after ending the child, which would draw on it. All
 * of these calls are allowed in a signal handler.
 */
static void on_crash(int sig)
{
	if (child && !kill((pid_t)child, SIGKILL))
		waitpid((pid_t)child, NULL, 0);
	if (write(STDOUT_FILENO, LEAVE, strlen(LEAVE)) >= 0)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	raise(sig);	/* SA_RESETHAND: now it ends this process */
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

bool terminal_has_gone(void)
{
	struct pollfd fd = { .fd = STDIN_FILENO };

	return poll(&fd, 1, 0) > 0 && fd.revents & (POLLHUP | POLLERR | POLLNVAL);
}

bool terminal_resized(void)
{
	bool was = resized;

	resized = 0;
	return was;
}

static void write_text(const char *sequence)
{
	if (write(STDOUT_FILENO, sequence, strlen(sequence)) < 0)
		log_debug("the terminal was closed: %s", strerror(errno));
}

/* Keys come at once, without echo; Ctrl-C is a signal, Ctrl-Z, Ctrl-\\ and Ctrl-S do nothing. */
static void make_raw(void)
{
	struct termios raw = before;

	raw.c_lflag &= ~(ICANON | ECHO | IEXTEN);
	raw.c_iflag &= ~(IXON | ICRNL | INLCR);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	raw.c_cc[VSUSP] = _POSIX_VDISABLE;
	raw.c_cc[VQUIT] = _POSIX_VDISABLE;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
}

static int run_child(int (*screen)(void *ctx), void *ctx, int messages, pid_t parent,
		     const sigset_t *mask)
{
	struct sigaction sa = { .sa_handler = on_resize };
	int status;
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		return EXIT_FAILURE;
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		signal(ends[i], SIG_DFL);
	for (i = 0; i < ARRAY_SIZE(crashes); i++)
		signal(crashes[i], SIG_DFL);
	sigaction(SIGWINCH, &sa, NULL);
	dup2(messages, STDERR_FILENO);
	sigprocmask(SIG_SETMASK, mask, NULL);
	status = screen(ctx);
	fflush(NULL);
	return status;
}

/* Returns how the child ended, as terminal_run() does. *sig: the signal that ended it; 0: none. */
static int wait_for(pid_t pid, int *sig)
{
	int status;

	*sig = 0;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	*sig = WTERMSIG(status);
	return *sig == SIGINT || *sig == SIGTERM || *sig == SIGHUP ? -EINTR : -EFAULT;
}

/* Blocks the signals that are for a child; *mask: what was blocked before. */
static void block_ends(sigset_t *mask)
{
	sigset_t block;
	size_t i;

	sigemptyset(&block);
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		sigaddset(&block, ends[i]);
	sigprocmask(SIG_BLOCK, &block, mask);
}

/*
 * Runs one child, until it ends. A signal that arrives before the child exists waits for it: they
 * are blocked before and after. mask: what is blocked meanwhile. Returns 0 to 125 or -errno.
 */
static int run_once(int (*screen)(void *ctx), void *ctx, int messages, const sigset_t *mask,
		    int *sig)
{
	pid_t parent = getpid(), pid = fork();
	int result;

	if (!pid)
		_exit(run_child(screen, ctx, messages, parent, mask));
	result = -errno;
	child = pid > 0 ? pid : 0;
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (pid > 0)
		result = wait_for(pid, sig);
	block_ends(NULL);
	child = 0;
	return result;
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

/* Sets the handlers of signals that end the process, and of crashes. */
static void catch_signals(void)
{
	struct sigaction end = { .sa_handler = forward_signal };
	struct sigaction crash = { .sa_handler = on_crash, .sa_flags = SA_RESETHAND | SA_NODEFER };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ends); i++)
		sigaction(ends[i], &end, NULL);
	for (i = 0; i < ARRAY_SIZE(crashes); i++)
		sigaction(crashes[i], &crash, NULL);
}

static void leave_screen(void)
{
	size_t i;

	write_text(LEAVE);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	for (i = 0; i < ARRAY_SIZE(crashes); i++)
		signal(crashes[i], SIG_DFL);
}

int terminal_run(int (*screen)(void *ctx), void *ctx)
{
	int messages = memfd_create("messages", MFD_CLOEXEC), result, sig = 0;
	sigset_t mask;

	if (messages < 0 || tcgetattr(STDIN_FILENO, &before)) {
		result = -errno;
		log_error("cannot use the terminal: %s", strerror(-result));
		if (messages >= 0)
			close(messages);
		return result;
	}
	fflush(NULL);
	block_ends(&mask);
	catch_signals();
	make_raw();
	write_text(ENTER);
	do
		result = run_once(screen, ctx, messages, &mask, &sig);
	while (result == TERMINAL_AGAIN && !ended);
	leave_screen();
	print_messages(messages);
	if (result == TERMINAL_AGAIN)
		result = -EINTR;	/* the child was about to end when the signal came */
	if (result == -EFAULT)
		log_error("the screen was terminated by signal %d (%s)", sig, strsignal(sig));
	else if (result < 0 && result != -EINTR)
		log_error("cannot start the screen: %s", strerror(-result));
	return result;
}
