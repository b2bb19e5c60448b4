/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * metrics_server.h - serves metrics over HTTP: /metrics for Prometheus, /-/healthy (it runs),
 * /-/ready (and its profiles get somewhere), a page at /.
 *
 * Input from clients is parsed by libmicrohttpd in a worker (worker/worker.h) without capabilities,
 * files and the right to make sockets: it is given the listening socket, and accepts. When a client
 * wants a text, the worker asks the main process, which makes it at its next metrics_server_tick()
 * and passes it in a file in memory. A text is used for a second, however many clients ask. The
 * worker waits for it for at most METRICS_WAIT_MS, and then answers 503. Which connections it keeps
 * is in metrics_clients.h.
 *
 * A worker that ends, asks too often, or breaks the protocol is replaced, at first after a second;
 * clients that connect meanwhile wait.
 *
 * The functions run in the main process and never wait, except to start the worker.
 */
#ifndef TACHBPF_AGENT_METRICS_SERVER_H
#define TACHBPF_AGENT_METRICS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/time.h"
#include "telemetry/metrics_text.h"
#include "worker/worker.h"

#define METRICS_WAIT_MS 2000
#define METRICS_BYTES_MAX (4u << 20)
#define METRICS_FRESH_MS 1000

struct metrics_server;

/* For keeper_start(). */
extern const struct worker_kind metrics_server_kind;

#define METRICS_WHY_BYTES 256

/* What is served. */
struct metrics_source {
	/* Writes all families to t, which has been begun; the function's caller ends it. */
	void (*render)(void *ctx, struct metrics_text *t);
	/* Returns true; or false, and a line that says why in why. */
	bool (*ready)(void *ctx, char why[METRICS_WHY_BYTES]);
	void *ctx;
};

/*
 * Listens at ADDRESS:PORT, [IPV6]:PORT or :PORT (all addresses); port 0: any free one. hosts: names
 * that a request's Host may have besides localhost and every address; without any, all names if
 * other hosts can connect. metrics_server_tick() starts the worker. Returns 0, or -errno after
 * logging. Free *out by metrics_server_end().
 */
int metrics_server_start(struct metrics_server **out, const char *listen, const char *const *hosts,
			 size_t host_cnt);
/* Returns the descriptor to poll for POLLIN, the same as long as the server lives. s NULL: -1. */
int metrics_server_fd(const struct metrics_server *s);
/* Answers the worker, and replaces it if it is gone. now: now_ns(). s NULL: nothing. */
void metrics_server_tick(struct metrics_server *s, uint64_t now,
			 const struct metrics_source *source);
/* When metrics_server_tick() has work that no request announces; UINT64_MAX: never. */
uint64_t metrics_server_next_ns(const struct metrics_server *s);
/* Ends the worker and stops listening. s may be NULL. */
void metrics_server_end(struct metrics_server *s);

struct metrics_server_counts {
	uint64_t texts;		/* that were made */
	uint64_t left_out;	/* samples that did not fit into the last text */
	uint64_t lost;		/* workers that were replaced */
};
/* s NULL: zeros. */
void metrics_server_counts(const struct metrics_server *s, struct metrics_server_counts *out);

#endif
