// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sender_process.c - the sender's own side: its loop (sender.h has what it is for). One thread, and
 * one of libcurl's for each name that is being resolved.
 *
 * The jail: no capabilities; files can only be read, with nobody's permissions, and where the
 * kernel has Landlock only below the directories that resolver and TLS need. Passing each file
 * through a broker would require our own resolver: the C library opens its files by name, and again
 * when they change. Only Internet sockets are allowed, since a local one may belong to a service
 * that trusts this process as root.
 */
#include <curl/curl.h>
#include <errno.h>
#include <malloc.h>
#include <nss.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/start.h"
#include "delivery/sender.h"
#include "delivery/sender_wire.h"
#include "delivery/transfer.h"
#include "worker/worker_start.h"

#define MEMORY_BYTES (512u << 20)
/* Limit for the servers' strings: some lists of CAs have half a MiB. */
#define SERVERS_BYTES_MAX (16u << 20)
#define IDLE_MS 60000
#define REST_MS 500
#define THREAD_STACK_BYTES (512u << 10)
#define CONNECTIONS_MAX 64

/* In addition to what the jail allows: found with strace, with glibc 2.36 and OpenSSL 3. */
static const char *const calls[] = {
	/* sockets */
	"connect", "bind", "getsockname", "getpeername", "setsockopt", "getsockopt", "sendto",
	"recvfrom", "sendmmsg", "recvmmsg", "shutdown", "socketpair", "poll", "ppoll", "select",
	"pselect6",
	/* files */
	"read", "write", "readv", "writev", "pread64", "lseek", "fstat", "newfstatat", "stat",
	"lstat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "fcntl",
	"getdents64", "eventfd2", "pipe2", "pipe",
	/* itself */
	"mprotect", "set_robust_list", "rseq", "sched_yield", "sched_getaffinity", "sysinfo",
	"uname", "gettimeofday", "time", "nanosleep", "clock_nanosleep", "clock_getres", "getuid",
	"geteuid", "getgid", "getegid", "getrlimit", "setpriority", "sigaltstack",
	NULL,
};
static const char *const reads_below[] = {
	"/etc", "/usr", "/lib", "/lib64", "/nix/store", "/run/systemd/resolve",
	"/run/NetworkManager", "/run/resolvconf", "/run/connman", NULL,
};
static const struct jail jail = {
	.calls = calls, .memory_bytes = MEMORY_BYTES, .reads_below = reads_below,
	.internet = true, .threads = true, .secret = true,
};

static struct {
	int socket;
	CURLM *multi;
	struct buf texts;
	struct sender_server servers[SENDER_EXPORTERS_MAX];
	int server_cnt;
	unsigned int transfer_cnt;
	bool busy;		/* it has had a transfer since start_over() */
} self;

/* If an answer cannot be sent, nobody waits for it. */
static void send_answer(const struct sender_answer *a)
{
	if (worker_send(self.socket, a, sizeof(*a), NULL, 0))
		_exit(1);
}

static void answer_unstarted(const struct sender_message *m, const char *why)
{
	struct sender_answer a = { .job = m->job, .result = SEND_RETRY, .cause = CAUSE_OTHER };

	strncpy(a.text, why, sizeof(a.text) - 1);
	send_answer(&a);
}

static int take_servers(const struct sender_message *m, int fd)
{
	uint64_t at = 0;
	ssize_t n = 1;

	if (self.texts.len || m->length > SERVERS_BYTES_MAX || buf_reserve(&self.texts, m->length))
		return -EINVAL;
	for (; at < m->length && n > 0; at += (uint64_t)n)
		n = pread(fd, self.texts.data + at, m->length - at, (off_t)at);
	if (n <= 0)
		return -EIO;
	self.texts.len = m->length;
	self.server_cnt = sender_servers_get(&self.texts, self.servers);
	return self.server_cnt < 0 ? self.server_cnt : 0;
}

/* libcurl and its TLS library take 2.5 MiB: not before there is something to send. */
static void begin_curl(void)
{
	if (self.multi)
		return;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) || !(self.multi = curl_multi_init()))
		_exit(1);
	curl_multi_setopt(self.multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_MAX);
}

/* Passes ownership of fd to the transfer. */
static void take_job(const struct sender_message *m, int fd)
{
	struct transfer *t;

	if (m->exporter >= (uint32_t)self.server_cnt || m->info.path >= REQUEST_PATHS ||
	    self.transfer_cnt == SENDER_TRANSFERS_MAX) {
		close(fd);
		answer_unstarted(m, "no room for another transfer");
		return;
	}
	begin_curl();
	t = transfer_new(&self.servers[m->exporter], m, fd);
	if (!t || curl_multi_add_handle(self.multi, transfer_easy(t)) != CURLM_OK) {
		transfer_free(t);
		answer_unstarted(m, "no memory for a transfer");
		return;
	}
	self.transfer_cnt++;
	self.busy = true;
}

/* Takes all available messages. Returns 0, or -errno: the other end is closed. */
static int take_messages(void)
{
	struct sender_message m;
	int fd, err;

	while (!(err = worker_receive(self.socket, &m, sizeof(m), &fd, 1, 0))) {
		if (fd < 0)
			return -EBADMSG;
		if (m.kind == SENDER_JOB) {
			take_job(&m, fd);
			continue;
		}
		err = take_servers(&m, fd);
		close(fd);
		if (err)
			return err;
	}
	return err == -EAGAIN ? 0 : err;
}

static void finish_transfers(void)
{
	struct sender_answer a;
	struct transfer *t;
	CURLMsg *m;
	CURLcode code;
	int left;

	while ((m = curl_multi_info_read(self.multi, &left))) {
		if (m->msg != CURLMSG_DONE)
			continue;
		code = m->data.result;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
		transfer_answer(t, code, &a);
		curl_multi_remove_handle(self.multi, transfer_easy(t));
		transfer_free(t);
		self.transfer_cnt--;
		send_answer(&a);
	}
}

/* Threads are few and short-lived; each would otherwise have 8 MiB of stack and 64 MiB of heap. */
static void be_small(void)
{
	pthread_attr_t attr;

	mallopt(M_ARENA_MAX, 1);
	if (!pthread_attr_init(&attr)) {
		pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
		pthread_setattr_default_np(&attr);
		pthread_attr_destroy(&attr);
	}
	/* The keeper's priority is for workers that samples wait for. */
	setpriority(PRIO_PROCESS, 0, 0);
	setenv("RES_OPTIONS", "timeout:2 attempts:2", 0);
}

/*
 * A statically linked program has these two in it. What else /etc/nsswitch.conf may name are
 * libraries of the host, for the host's own C library.
 */
static void limit_name_services(void)
{
#ifdef TACHBPF_STATIC
	__nss_configure_lookup("hosts", "files dns");
#endif
}

static void transfer_some(void)
{
	int running;

	curl_multi_perform(self.multi, &running);
	finish_transfers();
}

/* After a window's last transfer most of libcurl and its TLS library is not needed for a while. */
static void wait_for_more(void)
{
	struct curl_waitfd wait = { .fd = self.socket, .events = CURL_WAIT_POLLIN };
	struct pollfd alone = { .fd = self.socket, .events = POLLIN };
	bool rests = self.busy && !self.transfer_cnt;
	int found = 0;

	if (self.multi)
		curl_multi_poll(self.multi, &wait, 1, rests ? REST_MS : IDLE_MS, &found);
	else
		poll(&alone, 1, -1);
	if (!rests || found)
		return;
	start_over();
	self.busy = false;
}

/* The worker's function: fds[0] is its socket. Ends the process when the other end is closed. */
static int sender_run(void *shared, const int *fds)
{
	int err = 0;

	be_small();
	limit_name_services();
	self.socket = fds[0];
	while (!err) {
		err = take_messages();
		if (self.multi)
			transfer_some();
		if (!err)
			wait_for_more();
	}
	_exit(0);
}

static const worker_fn functions[] = { sender_run };

const struct worker_kind sender_kind = {
	.name = "tachbpf-sender",
	.does = "sends profiles to servers; reads what they answer",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = 4096,
};
