// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_limit.c - see elf_limit.h. */
#include "elf_helper/elf_limit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

/* Until the helper is nice, what is left of ELF_QUICK_US. */
static struct itimerval quick = { .it_value.tv_usec = ELF_QUICK_US };
static volatile sig_atomic_t is_nice;

static void limit_to(time_t seconds)
{
	const struct itimerval after = { .it_value.tv_sec = seconds };

	setitimer(ITIMER_PROF, &after, NULL);
}

/* The next SIGPROF ends the helper. */
static void be_nice(int number)
{
	is_nice = true;
	setpriority(PRIO_PROCESS, 0, 10);
	limit_to(ELF_SERVE_SECONDS);
}

void elf_limit_begin(bool table)
{
	const struct sigaction once = { .sa_handler = be_nice,
					.sa_flags = SA_RESETHAND | SA_RESTART };

	if (!table || is_nice) {
		limit_to(ELF_SERVE_SECONDS);
		return;
	}
	sigaction(SIGPROF, &once, NULL);
	setitimer(ITIMER_PROF, &quick, NULL);
}

void elf_limit_end(bool table)
{
	const struct itimerval none = { .it_value.tv_sec = 0 };

	setitimer(ITIMER_PROF, &none, table && !is_nice ? &quick : NULL);
	is_nice |= table && !timerisset(&quick.it_value);
}
