/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* agent_signals.h - signals to the agent: SIGTERM and SIGINT end it, SIGHUP reloads. */
#ifndef TACHBPF_AGENT_SIGNALS_H
#define TACHBPF_AGENT_SIGNALS_H

#include <stdbool.h>

/*
 * Catch them from now on, and ignore SIGPIPE and SIGXFSZ: write(2) fails instead. Before
 * agent_signals_begun(), a signal that ends the agent ends it at once if it comes a second time.
 */
void agent_signals_catch(void);
void agent_signals_begun(void);

/* Has one come that ends the agent? */
bool agent_signals_end(void);
/* Has a SIGHUP come since the last call? */
bool agent_signals_reload(void);

#endif
