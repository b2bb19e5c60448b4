// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_signals.c - see agent_signals.h. */
#include "agent/agent_signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t ending, reloading, begun;

static void on_end(int sig)
{
	if (!begun && ending) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	ending = 1;
}

static void on_reload(int sig)
{
	reloading = 1;
}

void agent_signals_catch(void)
{
	struct sigaction end = { .sa_handler = on_end }, reload = { .sa_handler = on_reload };

	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGHUP, &reload, NULL);
	signal(SIGPIPE, SIG_IGN);
}

void agent_signals_begun(void)
{
	begun = 1;
}

bool agent_signals_end(void)
{
	return ending;
}

bool agent_signals_reload(void)
{
	bool was = reloading;

	reloading = 0;
	return was;
}
