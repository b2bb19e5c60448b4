/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent_signals.h - the agent's signals: SIGTERM and SIGINT end it, SIGHUP reloads. */
#ifndef TACHBPF_AGENT_SIGNALS_H
#define TACHBPF_AGENT_SIGNALS_H

#include <stdbool.h>

/*
 * Catches them from now on, and ignores SIGPIPE and SIGXFSZ, so that write(2) fails instead. Before
 * agent_signals_begun(), a second signal that ends the agent ends it at once.
 */
void agent_signals_catch(void);
void agent_signals_begun(void);

/* Returns true if a signal that ends the agent has arrived. */
bool agent_signals_end(void);
/* Returns true if a SIGHUP has arrived since the last call. */
bool agent_signals_reload(void);

#endif
