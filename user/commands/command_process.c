// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* command_process.c - see command_process.h. */
#include "commands/command_process.h"

#include <signal.h>
#include <stddef.h>

#include "doctor/worker_calls.h"
#include "heap/heap_worker.h"
#include "look/look_worker.h"

static volatile sig_atomic_t own, last, terminal, asked;
static volatile sig_atomic_t begun;
static bool shared;	/* the command is in the terminal's foreground, too */

/* For Ctrl-C on a terminal the kernel sends SIGINT to all foreground processes: SI_KERNEL. */
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

static struct record_signals ended_by;

struct record_signals record_signals_ended(void)
{
	return ended_by = record_signals_seen();
}

bool record_signals_again(void)
{
	return own > ended_by.own || terminal > ended_by.terminal;
}

/* ---- workers ---- */

int command_workers_start(unsigned int parts)
{
	/* Used by the keeper. */
	static const struct worker_kind *kinds[CAPTURE_WORKERS_MAX + 1];
	size_t cnt = capture_workers(parts, kinds);

	if (parts & COMMAND_LOOK)
		kinds[cnt++] = &look_worker_kind;
	if (parts & COMMAND_LOOK_KERNEL)
		kinds[cnt++] = &look_kernel_worker_kind;
	if (parts & COMMAND_CENSUS)
		kinds[cnt++] = &heap_worker_kind;
	return workers_start(kinds, cnt);
}
