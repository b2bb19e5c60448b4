// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * time_ns.c - see time_ns.h. The file timens_offsets is about the namespace of a process' future
 * children (time_namespaces(7)). It is the process' own, too, unless it has called unshare().
 */
#include "host/time_ns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "host/proc.h"

#define LINK_BYTES 64
/* The kernel allows no clock beyond KTIME_SEC_MAX / 2. */
#define SECONDS_MAX (INT64_MAX / (int64_t)NS_PER_S / 2)

/* The offset of CLOCK_MONOTONIC. 0 or -EBADMSG. */
static int parse(const char *text, int64_t *ns)
{
	const char *line = strstr(text, "monotonic");
	int64_t s, rest;

	if (!line || sscanf(line, "monotonic %" SCNd64 " %" SCNd64, &s, &rest) != 2 ||
	    s > SECONDS_MAX || s < -SECONDS_MAX || rest < 0 || rest >= (int64_t)NS_PER_S)
		return -EBADMSG;
	*ns = s * (int64_t)NS_PER_S + rest;
	return 0;
}

static int read_offset(pid_t tgid, int64_t *ns)
{
	char text[256];
	ssize_t len = proc_read(tgid, "timens_offsets", text, sizeof(text));

	return len < 0 ? (int)len : parse(text, ns);
}

int time_ns_offset(pid_t tgid, int64_t *ns)
{
	char own[LINK_BYTES], its[LINK_BYTES], children[LINK_BYTES];
	int64_t here = 0, there = 0;
	ssize_t len = proc_link(0, "ns/time", own, sizeof(own));
	int err;

	*ns = 0;
	if (len == -ENOENT)
		return 0;	/* a kernel without such namespaces */
	if (len >= 0)
		len = proc_link(tgid, "ns/time", its, sizeof(its));
	if (len < 0)
		return (int)len;
	if (!strcmp(own, its))
		return 0;
	len = proc_link(tgid, "ns/time_for_children", children, sizeof(children));
	if (len < 0)
		return (int)len;
	if (strcmp(its, children))
		return -ENOTSUP;
	err = read_offset(tgid, &there);
	if (!err)
		err = read_offset(0, &here);
	*ns = err ? 0 : there - here;
	return err;
}
