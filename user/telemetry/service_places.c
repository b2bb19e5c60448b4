// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* service_places.c - see service_places.h. */
#include "telemetry/service_places.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/string_ref.h"
#include "base/util.h"

/* Kubernetes' random letters: no vowels, no 0, 1, 3 (apimachinery, pkg/util/rand/rand.go). */
#define SAFE "bcdfghjklmnpqrstvwxz2456789"
#define DIGITS "0123456789"

/* Cuts off the name's last part, after a "-", if it has min to max characters, all in a set. */
static bool cut_last(char *name, const char *set, size_t min, size_t max)
{
	char *dash = strrchr(name, '-');
	size_t len = dash ? strlen(dash + 1) : 0;

	if (!dash || dash == name || len < min || len > max || strspn(dash + 1, set) != len)
		return false;
	*dash = '\0';
	return true;
}

const char *service_workload(const struct container *c, char out[SERVICE_PLACE_BYTES])
{
	out[0] = '\0';
	if (!c->pod_namespace[0])
		return out;
	snprintf(out, SERVICE_PLACE_BYTES, "%s", c->pod);
	if (cut_last(out, SAFE, 5, 5)) {
		/* A ReplicaSet's hash, 32 bits in decimal; or a CronJob's minute. */
		if (!cut_last(out, SAFE, 6, 10))
			cut_last(out, DIGITS, 8, 10);
	} else {
		cut_last(out, DIGITS, 1, 4);
	}
	return out;
}

const char *service_container(const struct container *c, char out[SERVICE_PLACE_BYTES])
{
	const char *name = c->name;

	/* Their ids are names. */
	if (!*name && (!strcmp(c->runtime, "nspawn") || !strcmp(c->runtime, "lxc")))
		name = c->id;
	snprintf(out, SERVICE_PLACE_BYTES, "%s", *name ? name : c->pod);
	return out;
}

const char *service_unit(const struct container *c, char out[SERVICE_PLACE_BYTES])
{
	static const char *const starters[] = {
		"user@*.service", "ssh.service", "sshd*.service", "cron.service", "crond.service",
		"anacron.service", "atd.service", "*getty@*.service", "docker.service",
		"containerd.service", "crio.service", "podman.service", "kubelet.service",
		"k3s*.service", "systemd-nspawn@*.service", "lxc@*.service",
	};
	static const char suffix[] = ".service";
	size_t len = strlen(c->unit), i;

	out[0] = '\0';
	if (!ends_with(c->unit, suffix))
		return out;
	for (i = 0; i < ARRAY_SIZE(starters); i++)
		if (!fnmatch(starters[i], c->unit, 0))
			return out;
	snprintf(out, SERVICE_PLACE_BYTES, "%.*s", (int)(len - (sizeof(suffix) - 1)), c->unit);
	return out;
}
