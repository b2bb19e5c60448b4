/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_services.h - the services of this host, by number. A number stands for its service as long
 * as it has processes, and until the window in which the last one ended was exported.
 *
 * Number 0 is for processes for which there is no room, and those that ended before they could be
 * named. In the main process; some 9 KiB a service.
 */
#ifndef TACHBPF_AGENT_SERVICES_H
#define TACHBPF_AGENT_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "telemetry/service.h"

#define SERVICE_NUMBER_OTHER 0

struct agent_services;

/* At most max services, with number 0. NULL with errno. Freed by agent_services_free(). */
struct agent_services *agent_services_new(uint32_t max);
void agent_services_free(struct agent_services *s);

/*
 * The number of a service, which is a new one if it is not known, and one process more has it. 0 if
 * there is no room.
 */
uint32_t agent_services_enter(struct agent_services *s, const struct service *service);
/* One process less. */
void agent_services_leave(struct agent_services *s, uint32_t number);

/* Free the numbers that have no process. Returns how many. To be called between two windows. */
uint32_t agent_services_sweep(struct agent_services *s);

/* The service with this number; NULL: none has it. Valid until the next sweep. */
const struct service *agent_services_get(const struct agent_services *s, uint32_t number);
/* Its name; that of 0 is SERVICE_OTHER_NAME. */
const char *agent_services_name(const struct agent_services *s, uint32_t number);
/* How many there are, without 0; and how often a service found no room (agent_services_enter()). */
uint32_t agent_services_cnt(const struct agent_services *s);
uint64_t agent_services_beyond(const struct agent_services *s);

#endif
