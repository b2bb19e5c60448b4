// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_delivery.c - what it costs to bring requests to a server on this machine: 50 requests of
 * 30 KiB, as of 50 services a window; and what the spool costs.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <arpa/inet.h>
#include <signal.h>
#include <unistd.h>

#include "delivery/delivery_parts.h"
#include "base/util.h"

#define REQUESTS 50
#define BYTES (30 << 10)
#define WINDOWS 20
#define ENTRIES 10000

/* Answers each request with 200. One process for each connection. */
static void serve_one(int fd)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	static char data[1 << 16];
	size_t have = 0, want = 0;
	ssize_t n;

	while ((n = read(fd, data + have, sizeof(data) - 1 - have)) > 0) {
		char *end, *length;

		have += (size_t)n;
		data[have] = '\0';
		end = strstr(data, "\r\n\r\n");
		length = strcasestr(data, "content-length: ");
		if (!want && end && length)
			want = (size_t)(end + 4 - data) + strtoul(length + 16, NULL, 10);
		if (want && have >= want) {
			if (write_all(fd, answer, sizeof(answer) - 1))
				break;
			have = want = 0;
		}
	}
	_exit(0);
}

static pid_t serve(uint16_t *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0), c;
	pid_t pid;

	if (bind(fd, (void *)&a, len) || listen(fd, 64) || getsockname(fd, (void *)&a, &len))
		exit(1);
	*port = ntohs(a.sin_port);
	pid = fork();
	if (pid)
		return pid;
	signal(SIGCHLD, SIG_IGN);
	while ((c = accept(fd, NULL, NULL)) >= 0) {
		if (!fork())
			serve_one(c);
		close(c);
	}
	_exit(0);
}

/* CPU time of another process in ns; *kib: its resident memory. */
static double cpu_of(pid_t pid, unsigned long *kib)
{
	unsigned long long ns = 0;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%llu", &ns) != 1)
		ns = 0;
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmRSS: %lu", kib);
	if (f)
		fclose(f);
	return (double)ns;
}

static void until_sent(struct delivery *d, uint64_t cnt)
{
	struct pollfd p = { .fd = delivery_fd(d), .events = POLLIN };

	for (;;) {
		delivery_tick(d, now_ns());
		if (delivery_counts(d, 0)->sent.requests >= cnt)
			return;
		poll(&p, 1, 100);
	}
}

static const struct request_info info = {
	.content_type = "application/x-protobuf", .encoding = "gzip", .samples = 1, .weight = 1,
};
static uint8_t payload[BYTES];

static void bench_windows(struct delivery *d)
{
	double own, its;
	unsigned long kib = 0;
	int w, i;

	delivery_offer(d, 0, &info, payload, BYTES, now_ns());
	until_sent(d, 1);
	cpu_of(d->sender.worker.pid, &kib);
	printf("sender: %lu KiB resident after one request\n", kib);
	own = cpu_time_s();
	its = cpu_of(d->sender.worker.pid, &kib);
	for (w = 0; w < WINDOWS; w++) {
		for (i = 0; i < REQUESTS; i++)
			delivery_offer(d, 0, &info, payload, BYTES, now_ns());
		until_sent(d, 1 + (uint64_t)(w + 1) * REQUESTS);
	}
	own = cpu_time_s() - own;
	its = cpu_of(d->sender.worker.pid, &kib) - its;
	printf("a window of %d requests of %d KiB: main process %.2f ms, sender %.2f ms of CPU; "
	       "%llu went by way of the spool\n", REQUESTS, BYTES >> 10, own * 1e3 / WINDOWS,
	       its / 1e6 / WINDOWS, (unsigned long long)delivery_counts(d, 0)->spooled / WINDOWS);
	printf("sender: %lu KiB resident\n", kib);
}

static void bench_spool(const char *dir)
{
	struct spool_limits limits = { .bytes = 1u << 30 };
	struct request_info its = info;
	struct spool_entry *e;
	struct rusage before, after;
	struct spool_dir *s;
	uint64_t begin;
	int i;

	strcpy(its.exporter, "o");
	if (spool_dir_open(&s, dir, &limits, NULL, NULL))
		exit(1);
	begin = now_ns();
	for (i = 0; i < ENTRIES; i++)
		if (spool_dir_put(s, spool_dir_take_seq(s), &its, payload, BYTES, &e))
			exit(1);
	printf("spool: %.0f us to store %d KiB\n", (now_ns() - begin) / 1e3 / ENTRIES, BYTES >> 10);
	spool_dir_close(s);
	getrusage(RUSAGE_SELF, &before);
	begin = now_ns();
	if (spool_dir_open(&s, dir, &limits, NULL, NULL))
		exit(1);
	getrusage(RUSAGE_SELF, &after);
	printf("spool: a start with %zu entries takes %.0f ms\n", spool_dir_cnt(s),
	       (now_ns() - begin) / 1e6);
	begin = now_ns();
	while ((e = spool_dir_oldest(s))) {
		int fd = spool_dir_get(s, e, &its);

		close(fd);
		spool_dir_remove(s, e);
	}
	printf("spool: %.0f us to check and remove one\n", (now_ns() - begin) / 1e3 / ENTRIES);
	spool_dir_close(s);
}

int main(void)
{
	char dir[] = "/tmp/tachbpf-bench-XXXXXX", path[64], url[64], command[80];
	struct delivery_exporter exporter = { .name = "o", .server.url = url };
	struct delivery_args args = { .spool = path, .exporters = &exporter, .exporter_cnt = 1 };
	struct delivery *d;
	uint16_t port;
	pid_t server;
	size_t i;

	if (!mkdtemp(dir))
		return 1;
	for (i = 0; i < BYTES; i++)
		payload[i] = (uint8_t)hash_u64(i);
	server = serve(&port);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/v1development/profiles", port);
	snprintf(path, sizeof(path), "%s/spool", dir);
	if (delivery_new(&d, &args))
		return 1;
	delivery_tick(d, now_ns());
	bench_windows(d);
	delivery_free(d);
	bench_spool(path);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) ? 1 : 0;
}
