/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* config_env.h - the variables that OpenTelemetry has for what the agent's keys say. */
#ifndef TACHBPF_AGENT_CONFIG_ENV_H
#define TACHBPF_AGENT_CONFIG_ENV_H

#include "config/config_set.h"

/*
 * Set what this process' environment says, and complain of what is wrong. An empty variable counts
 * as not set, as OpenTelemetry wants it; of two for one key, the one for profiles counts.
 */
void config_env_apply(struct config_loading *l);

#endif
