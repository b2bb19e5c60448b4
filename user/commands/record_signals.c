// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* record_signals.c - see record_signals.h. */
#include "commands/record_signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t own, last, terminal, asked;
static volatile sig_atomic_t begun;
static bool shared;	/* the command is in the terminal's foreground, too */

/* The kernel itself sends the SIGINT of a terminal to all of the foreground: SI_KERNEL. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	if (!begun && (own || terminal)) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	if (sig == SIGINT && shared && info->si_code == SI_KERNEL) {
		terminal++;
	} else {
		last = sig;
		own++;
	}
}

void record_signals_catch(bool with_command)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	shared = with_command;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void on_ask(int sig)
{
	asked++;
}

void record_signals_ask(int sig)
{
	struct sigaction sa = { .sa_handler = on_ask };

	sigaction(sig, &sa, NULL);
}

void record_signals_begun(void)
{
	begun = true;
}

struct record_signals record_signals_seen(void)
{
	return (struct record_signals){ .own = own, .last = last, .terminal = terminal,
					.asked = asked };
}
