/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * metrics_host.h - whether a request's header Host is a name of this server. A page that a browser
 * shows cannot read metrics by giving its own name our address (DNS rebinding).
 */
#ifndef TACHBPF_AGENT_METRICS_HOST_H
#define TACHBPF_AGENT_METRICS_HOST_H

#include <stdbool.h>

/*
 * host: the header with or without a port, any bytes; NULL: there is none, as in HTTP/1.0. names:
 * separated by blanks, compared without case. Returns true for one of them and for every address.
 */
bool metrics_host_ok(const char *host, const char *names);

#endif
