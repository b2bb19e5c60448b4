/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * service_places.h - the service that a process's environment suggests: its pod, its container, its
 * systemd unit. Pure.
 */
#ifndef TACHBPF_SERVICE_PLACES_H
#define TACHBPF_SERVICE_PLACES_H

#include "host/containers.h"

#define SERVICE_PLACE_BYTES 256

/*
 * What was deployed as this pod: "web" of "web-7d9c5b6f4-x2x9z" (Deployment), "db" of "db-0"
 * (StatefulSet), "backup" of "backup-28391040-h7k2q" (CronJob). "": it is in no pod of Kubernetes.
 * Returns out, as the others.
 */
const char *service_workload(const struct container *c, char out[SERVICE_PLACE_BYTES]);

/* The name of the container, or of its podman pod; "" if it has none. */
const char *service_container(const struct container *c, char out[SERVICE_PLACE_BYTES]);

/*
 * The systemd service without ".service". "" if it is in none, or in one that starts programs for
 * others: a login, cron, a container runtime.
 */
const char *service_unit(const struct container *c, char out[SERVICE_PLACE_BYTES]);

#endif
