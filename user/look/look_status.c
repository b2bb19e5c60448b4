// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_status.c - see look_status.h. */
#include "look/look_status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/proc.h"

#define STATUS_BYTES 4096

static ssize_t status_of(pid_t tgid, uint32_t tid, char text[STATUS_BYTES])
{
	char name[32];

	snprintf(name, sizeof(name), "task/%" PRIu32 "/status", tid);
	return proc_read(tgid, name, text, STATUS_BYTES);
}

static const char *find_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? at + strlen(name) : "";
}

uint32_t look_own_tid(pid_t tgid, uint32_t tid)
{
	char text[STATUS_BYTES];
	const char *at;
	uint32_t own = 0;
	int used;

	if (status_of(tgid, tid, text) <= 0)
		return 0;
	at = find_field(text, "\nNSpid:");
	while (sscanf(at, " %" SCNu32 "%n", &own, &used) == 1)
		at += used;
	return own;
}

uint64_t look_switches(pid_t tgid, uint32_t tid)
{
	char text[STATUS_BYTES];
	uint64_t own = 0, forced = 0;

	if (status_of(tgid, tid, text) <= 0 || *find_field(text, "\nState:\t") != 'S')
		return 0;
	sscanf(find_field(text, "\nvoluntary_ctxt_switches:"), "%" SCNu64, &own);
	sscanf(find_field(text, "\nnonvoluntary_ctxt_switches:"), "%" SCNu64, &forced);
	return own + forced;
}
