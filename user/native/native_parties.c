// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_parties.c - see native_parties.h. */
#include "native/native_parties.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "host/proc.h"
#include "native/file_opener.h"

#define OPENER_MS 5000		/* without progress */
#define OPENER_ASKED_MAX 32
#define CACHE_MS 5000		/* after that, tables are built without it */
#define PAUSE_DOUBLINGS 6
#define GOOD_NS (60 * NS_PER_S)	/* a party that ran this long has not failed */

static void watch_fd(struct native *n, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	epoll_ctl(n->epoll, EPOLL_CTL_ADD, fd, &ev);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- helpers ---- */

static void make_ends(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		ends[0] = ends[1] = -1;
}

int helper_start(struct native *n, struct helper *h)
{
	int to_main[2], to_opener[2], err = -EMFILE;

	make_ends(to_main);
	make_ends(to_opener);
	if (to_main[0] >= 0 && to_opener[0] >= 0)
		err = elf_helper_start(h->role, to_main[1], to_opener[1], &h->pid, &h->pidfd);
	close_fd(&to_main[1]);
	close_fd(&to_opener[1]);
	if (err) {
		h->pid = 0;
		close_fd(&to_main[0]);
		close_fd(&to_opener[0]);
		return err;
	}
	h->fd = to_main[0];
	h->opener_end = to_opener[0];
	h->given = false;
	h->request = 0;
	h->file = NULL;
	h->started_ns = n->now;
	watch_fd(n, h->fd);
	return 0;
}

/* It may end late: a file that it was passed can block it. Nobody waits for it. */
static void note_ended(struct native *n, pid_t pid)
{
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(n->ended) && n->ended[i])
		i++;
	n->ended[i] = pid;
}

static void reap_ended(struct native *n)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(n->ended); i++)
		if (n->ended[i] && waitpid(n->ended[i], NULL, WNOHANG))
			n->ended[i] = 0;
}

static void pause_helper(struct native *n, struct helper *h)
{
	if (n->now - h->started_ns >= GOOD_NS)
		h->failures = 0;
	h->again_ns = n->now + (NS_PER_S << h->failures);
	h->failures += h->failures < PAUSE_DOUBLINGS;
}

void helper_end(struct native *n, struct helper *h)
{
	if (!h->pid)
		return;
	syscall(SYS_pidfd_send_signal, h->pidfd, SIGKILL, NULL, 0);
	note_ended(n, h->pid);
	close_fd(&h->pidfd);
	close_fd(&h->fd);
	close_fd(&h->opener_end);
	h->pid = 0;
	h->again_ns = n->now;
	if (!h->file)
		pause_helper(n, h);
	h->request = 0;
	h->file = NULL;
}

static void start_helper(struct native *n, struct helper *h)
{
	int err;

	if (h->pid || n->now < h->again_ns)
		return;
	err = helper_start(n, h);
	if (!err) {
		n->counts.helper_restarts++;
		return;
	}
	log_warn("cannot start tachbpf-elf: %s; machine code has no new %s until it starts",
		 strerror(-err), h->role == ELF_ROLE_NAMES ? "names" : "tables");
	h->again_ns = n->now + (NS_PER_S << h->failures);
	h->failures += h->failures < PAUSE_DOUBLINGS;
}

/* The opener gets the helper's socket, and passes it the secret. */
static void give_helper(struct native *n, struct helper *h)
{
	struct elf_message m = { .kind = OPENER_HELPER, .flags = h->role,
				 .bytes = NATIVE_SECRET_BYTES };

	if (h->pid && !h->given && n->has_secret && n->opener.worker.pid)
		h->given = !native_send(n->opener.fd, &m, n->secret, h->opener_end);
}

bool helper_is_idle(const struct native *n, enum elf_role role)
{
	const struct helper *h = &n->helpers[role];

	return h->pid && h->given && !h->request;
}

static bool is_runnable(pid_t pid)
{
	struct proc_stat st;

	return !proc_stat(pid, &st) && st.state == 'R';
}

uint64_t helper_waited_ns(const struct helper *h)
{
	char text[64];
	uint64_t ran, waited;

	if (proc_read(h->pid, "schedstat", text, sizeof(text)) < 0 ||
	    sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
		return h->waited_ns;
	return waited;
}

int helper_ask(struct native *n, enum elf_role role, struct file *f, struct elf_message *m,
	       const void *data)
{
	struct helper *h = &n->helpers[role];
	int err;

	m->file = f->number;
	m->request = ++n->requests ? n->requests : ++n->requests;
	err = native_send(h->fd, m, data, -1);
	if (err)
		return err;
	h->request = m->request;
	h->kind = m->kind;
	h->file = f;
	h->turn = f->turn;
	h->asked_ns = n->now;
	h->waited_ns = helper_waited_ns(h);
	return 0;
}

void helper_tell(struct native *n, enum elf_role role, uint32_t kind, uint32_t file)
{
	const struct elf_message m = { .kind = kind, .file = file };

	if (n->helpers[role].pid)
		native_send(n->helpers[role].fd, &m, NULL, -1);
}

/* ---- the opener ---- */

static void start_opener(struct native *n)
{
	struct opener *o = &n->opener;
	int i;

	if (o->worker.pid || n->now < o->again_ns)
		return;
	o->again_ns = n->now + NS_PER_S;
	if (worker_converse(&o->worker, -1, &o->fd))
		return;
	watch_fd(n, o->fd);
	o->asked = o->step = 0;
	o->answered_ns = n->now;
	for (i = 0; i < HELPERS; i++)
		n->helpers[i].given = false;
}

int opener_ready(struct native *n, pid_t about)
{
	struct opener *o = &n->opener;

	if (!o->worker.pid || o->asked >= OPENER_ASKED_MAX)
		return -EBUSY;
	return about ? worker_ready(&o->worker, about) : 0;
}

int opener_ask(struct native *n, struct elf_message *m, const void *data, int passed)
{
	struct opener *o = &n->opener;
	int err;

	m->request = ++n->requests ? n->requests : ++n->requests;
	err = native_send(o->fd, m, data, passed);
	if (err)
		return err;
	if (!o->asked++)
		o->answered_ns = n->now;
	return 0;
}

void opener_answered(struct native *n)
{
	n->opener.answered_ns = n->now;
	n->opener.asked -= n->opener.asked > 0;
}

/* ended: by itself, so no process is to blame. */
static void end_opener(struct native *n, pid_t about, bool blame, bool ended)
{
	close_fd(&n->opener.fd);
	if (ended)
		worker_lost(&n->opener.worker);
	else
		worker_give_up(&n->opener.worker, about, blame);
	n->opener.asked = 0;
}

bool opener_is_lost(struct native *n, bool ended)
{
	struct opener *o = &n->opener;
	const struct file_opener_at *at = o->worker.shared;
	uint32_t about, step;
	bool slow;

	if (!o->worker.pid)
		return false;
	about = __atomic_load_n(&at->about, __ATOMIC_ACQUIRE);
	step = __atomic_load_n(&at->step, __ATOMIC_RELAXED);
	if (step != o->step || (!about && !o->asked)) {
		o->step = step;
		o->step_ns = n->now;
	}
	if (!ended && n->now - o->step_ns < OPENER_MS * NS_PER_MS)
		return false;
	slow = !ended && worker_is_runnable(&o->worker);
	if (slow) {
		o->step_ns = n->now;
		return false;
	}
	n->counts.stuck += !ended;
	end_opener(n, (pid_t)about, about, ended);
	return true;
}

/* ---- the cache ---- */

static void start_cache(struct native *n)
{
	struct cache *c = &n->cache;
	struct elf_message m = { .kind = CACHE_BEGIN };

	if (!n->cache_dir || c->started_ns)
		return;
	c->started_ns = n->now;
	if (worker_converse(&c->worker, -1, &c->fd))
		return;
	watch_fd(n, c->fd);
	m.bytes = (uint32_t)strlen(n->cache_dir) + 1;
	cache_ask(n, &m, n->cache_dir, -1);
}

int cache_ask(struct native *n, const struct elf_message *m, const void *data, int passed)
{
	return n->cache.worker.pid ? native_send(n->cache.fd, m, data, passed) : -EPIPE;
}

void cache_end(struct native *n)
{
	if (!n->cache.worker.pid)
		return;
	close_fd(&n->cache.fd);
	worker_end(&n->cache.worker);
	n->cache.ready = false;
}

void cache_lost(struct native *n)
{
	worker_lost(&n->cache.worker);
	close_fd(&n->cache.fd);
	n->cache.ready = false;
}

/* Without a cache each run has its own secret. */
static void find_secret(struct native *n)
{
	if (n->has_secret || (n->cache.worker.pid &&
			      n->now - n->cache.started_ns < CACHE_MS * NS_PER_MS))
		return;
	cache_end(n);
	n->has_secret = getrandom(n->secret, sizeof(n->secret), 0) == sizeof(n->secret);
}

/* ---- all ---- */

uint64_t parties_busy_ns(const struct native *n, uint64_t now)
{
	const struct helper *h = &n->helpers[ELF_ROLE_NAMES];
	const struct opener *o = &n->opener;

	if ((h->pid && is_runnable(h->pid)) ||
	    (o->worker.pid && worker_is_runnable(&o->worker)))
		return now;
	return h->answered_ns > o->answered_ns ? h->answered_ns : o->answered_ns;
}

void parties_start(struct native *n)
{
	int i;

	reap_ended(n);
	start_cache(n);
	find_secret(n);
	start_opener(n);
	for (i = 0; i < HELPERS; i++) {
		start_helper(n, &n->helpers[i]);
		give_helper(n, &n->helpers[i]);
	}
}

void parties_end(struct native *n)
{
	int i;

	for (i = 0; i < HELPERS; i++)
		helper_end(n, &n->helpers[i]);
	if (n->opener.worker.pid)
		end_opener(n, 0, false, false);
	cache_end(n);
}
