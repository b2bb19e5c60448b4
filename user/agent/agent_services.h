/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_services.h - the services of this host, by number. A number stands for its service as long
 * as it has processes, and until the window in which the last one ended has been exported.
 *
 * Number 0 is for processes that found no room, and those that ended before they could be named. An
 * owner (agent_owners.h) has at most as many services as numbers are free: half of them if it is
 * alone. Runs in the main process; takes some 9 KiB a service.
 */
#ifndef TACHBPF_AGENT_SERVICES_H
#define TACHBPF_AGENT_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "telemetry/service.h"

#define SERVICE_NUMBER_OTHER 0

struct agent_services;

/* Holds at most max services, with number 0. NULL with errno. Freed by agent_services_free(). */
struct agent_services *agent_services_new(uint32_t max);
void agent_services_free(struct agent_services *s);

/*
 * Returns the number of a service, adding it for this owner if it is unknown, and counts one more
 * process. Returns 0 if there is no room.
 */
uint32_t agent_services_enter(struct agent_services *s, const struct service *service,
			      uint32_t owner);
/*
 * The configuration has changed, so what is known of services may not be sent any more: the next
 * process that enters each one says it anew.
 */
void agent_services_refresh(struct agent_services *s);
/* Counts one process more of a number in use, or of 0. Returns the number. */
uint32_t agent_services_join(struct agent_services *s, uint32_t number);
/* Counts one process less. */
void agent_services_leave(struct agent_services *s, uint32_t number);

/* Frees the numbers that have no process. Returns how many. Call it between two windows. */
uint32_t agent_services_sweep(struct agent_services *s);

/* Returns the service with this number, or NULL. Valid until the next sweep. */
const struct service *agent_services_get(const struct agent_services *s, uint32_t number);
/* Returns its name; that of 0 is SERVICE_OTHER_NAME. */
const char *agent_services_name(const struct agent_services *s, uint32_t number);
/* The number of services without 0; how often one found no room (agent_services_enter()). */
uint32_t agent_services_cnt(const struct agent_services *s);
uint64_t agent_services_beyond(const struct agent_services *s);

#endif
