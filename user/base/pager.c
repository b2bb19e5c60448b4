// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* pager.c - see pager.h. */
#include "base/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/colour.h"
#include "base/text.h"
#include "base/util.h"

static pid_t pager;	/* 0: none */

/* The user's choice; NULL: none. */
static const char *wanted_pager(void)
{
	const char *own = getenv("TACHBPF_PAGER");

	return own ? own : getenv("PAGER");
}

/* Returns true if a program from the environment may run with our rights. */
static bool environment_is_ours(void)
{
	return geteuid() != 0 && !getauxval(AT_SECURE);
}

/* Without less: passes everything on. */
static void copy_input(void)
{
	char bytes[4096];
	ssize_t n;

	while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0)
		if (write_all(STDOUT_FILENO, bytes, (size_t)n))
			break;
	_exit(0);
}

/* As root: runs the system's less so that it starts no editor, shell or preprocessor. */
static void run_secure_less(void)
{
	char *term = strdup(getenv("TERM"));

	clearenv();
	setenv("TERM", term && !strchr(term, '/') ? term : "dumb", 1);
	setenv("PATH", "/usr/bin:/bin", 1);
	setenv("LESSSECURE", "1", 1);
	setenv("LESSHISTFILE", "-", 1);
	setenv("LESSCHARSET", "utf-8", 1);
	execl("/usr/bin/less", "less", "-FRX", (char *)NULL);
	execl("/bin/less", "less", "-FRX", (char *)NULL);
}

static void run_pager(const char *choice)
{
	if (!environment_is_ours()) {
		run_secure_less();
	} else if (choice) {
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", choice, (char *)NULL);
	} else {
		execlp("less", "less", "-FRX", (char *)NULL);
	}
	copy_input();
}

/* The terminal belongs to the pager until it ends, even if we are asked to end before. */
static void on_signal(int sig)
{
	close(STDOUT_FILENO);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
	signal(sig, SIG_DFL);
	raise(sig);
}

static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction sa = { .sa_handler = on_signal };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &sa, NULL);
	signal(SIGPIPE, SIG_IGN);	/* write(2) fails with EPIPE when the pager has ended */
}

void pager_start(void)
{
	const char *choice = wanted_pager(), *term = getenv("TERM");
	int ends[2];

	if (!isatty(STDOUT_FILENO) || !term || !*term || !strcmp(term, "dumb") ||
	    (choice && (!*choice || !strcmp(choice, "cat"))))
		return;
	if (pipe2(ends, O_CLOEXEC))
		return;
	text_keep_terminal_width();
	colour_keep();
	pager = fork();
	if (!pager) {
		dup2(ends[0], STDIN_FILENO);
		run_pager(choice);
	}
	if (pager < 0) {
		pager = 0;
	} else {
		dup2(ends[1], STDOUT_FILENO);
		catch_signals();
	}
	close(ends[0]);
	close(ends[1]);
}

bool pager_is_started(void)
{
	return pager > 0;
}

bool pager_end(void)
{
	char shown[256];
	int status;

	if (!pager)
		return true;
	fclose(stdout);
	while (waitpid(pager, &status, 0) < 0)
		if (errno != EINTR)
			return true;
	pager = 0;
	/* The shell's statuses for a program that cannot be run. */
	if (!WIFEXITED(status) || (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127))
		return true;
	log_error("cannot run the pager '%s': set TACHBPF_PAGER or PAGER to another one, or to "
		  "nothing",
		  escape_text(wanted_pager(), strlen(wanted_pager()), shown, sizeof(shown)));
	return false;
}
