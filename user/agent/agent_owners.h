/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * agent_owners.h - whose a process is, by number: its user's, or its container's if the user is
 * root. Owners share what is limited: services, stacks, names. Nobody can become another owner
 * without rights that would allow everything.
 *
 * Number 0 is for those that found no room. A number is used again when its last process has gone.
 */
#ifndef TACHBPF_AGENT_OWNERS_H
#define TACHBPF_AGENT_OWNERS_H

#include <stdint.h>

#include "host/identity.h"

struct agent_owners;

/* At most max numbers, with 0. Returns NULL with errno. Freed by agent_owners_free(). */
struct agent_owners *agent_owners_new(uint32_t max);
void agent_owners_free(struct agent_owners *o);
/* Counts one process more of its owner. Returns the owner's number. */
uint32_t agent_owners_join(struct agent_owners *o, const struct identity *id);
/* Counts one process less. */
void agent_owners_leave(struct agent_owners *o, uint32_t number);

#endif
