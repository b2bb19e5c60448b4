/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* metrics_listen.h - a socket that listens at an address of the configuration. */
#ifndef TACHBPF_AGENT_METRICS_LISTEN_H
#define TACHBPF_AGENT_METRICS_LISTEN_H

#include <stdint.h>

/*
 * Listen at ADDRESS:PORT, [IPV6]:PORT, localhost:PORT, or :PORT, which is all addresses of IPv6 and
 * IPv4. Asks no resolver. The descriptor, which does not block; or -errno: -EINVAL: another form.
 */
int metrics_listen(const char *address);
/* The port of a socket; 0: it has none. */
uint16_t metrics_listen_port(int fd);

#endif
