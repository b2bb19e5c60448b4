// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * metrics_program.c - a main process that serves metrics, for test_metrics_server.py. Commands on
 * stdin, one a line; a line of JSON for each on stdout.
 *
 *     metrics_program ADDRESS:PORT [keeper] [HOST]...
 *
 * figures      port, worker's pid, texts that were made, workers that were lost
 * rows N       the text has so many samples
 * hold | go    the main process does not answer; it does again
 * unready      it is not ready from now on
 */
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/metrics_server.c"
#include "base/util.h"

static struct metrics_server *server;
static unsigned int rows = 3;
static bool held, unready;

static void render(void *ctx, struct metrics_text *t)
{
	char number[16];
	unsigned int i;

	metrics_family(t, "test_requests", METRIC_COUNTER, "Rows of a test.");
	for (i = 0; i < rows; i++) {
		snprintf(number, sizeof(number), "%u", i);
		metrics_count(t, &(struct metric_label){ "row", number }, 1, 1000 + i);
	}
}

static bool is_ready(void *ctx, char why[METRICS_WHY_BYTES])
{
	if (unready)
		strcpy(why, "No server accepts profiles.\n");
	return !unready;
}

static unsigned int port(void)
{
	struct sockaddr_in6 at;		/* IPv4 has its port in the same place */
	socklen_t len = sizeof(at);

	return getsockname(server->listens, (struct sockaddr *)&at, &len) ? 0 : ntohs(at.sin6_port);
}

static void figures(void)
{
	struct metrics_server_counts c;

	metrics_server_counts(server, &c);
	printf("{\"port\": %u, \"pid\": %d, \"texts\": %llu, \"left_out\": %llu, \"lost\": %llu}\n",
	       port(), server->worker.pid,
	       (unsigned long long)c.texts, (unsigned long long)c.left_out,
	       (unsigned long long)c.lost);
	fflush(stdout);
}

/* false: no more commands will come. */
static bool take_command(void)
{
	char line[64];
	ssize_t n = read(0, line, sizeof(line) - 1);

	if (n <= 0)
		return false;
	line[n] = 0;
	unready |= !strncmp(line, "unready", 7);
	if (sscanf(line, "rows %u", &rows) != 1)
		held = !strncmp(line, "hold", 4) || (held && strncmp(line, "go", 2));
	figures();
	return true;
}

int main(int argc, char **argv)
{
	static const struct worker_kind *const kinds[] = { &metrics_server_kind };
	static const struct metrics_source source = { .render = render, .ready = is_ready };
	struct pollfd polled[] = { { .fd = 0, .events = POLLIN }, { .events = POLLIN } };
	int keeper;

	if (argc < 2)
		return 1;
	keeper = argc > 2 && !strcmp(argv[2], "keeper");
	if ((keeper && keeper_start(kinds, 1)) ||
	    metrics_server_start(&server, argv[1], (const char *const *)argv + 2 + keeper,
				 (size_t)(argc - 2 - keeper)))
		return 1;
	for (;;) {
		uint64_t now = now_ns(), next = metrics_server_next_ns(server);

		if (!held)
			metrics_server_tick(server, now, &source);
		next = metrics_server_next_ns(server);
		polled[1].fd = held ? -1 : metrics_server_fd(server);
		if (poll(polled, 2, next == UINT64_MAX || held ? -1 :
				    next <= now ? 0 : (int)((next - now) / 1000000 + 1)) < 0)
			return 1;
		if (polled[0].revents && !take_command())
			break;
	}
	metrics_server_end(server);
	keeper_end();
	return 0;
}
