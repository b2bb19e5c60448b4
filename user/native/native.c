// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native.c - see native.h: the poll, and the lifetimes of helpers and processes. */
#include "native/native.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "native/native_answers.h"
#include "native/native_ask.h"
#include "native/native_debug.h"
#include "native/native_expect.h"
#include "native/native_files.h"
#include "native/native_mappings.h"
#include "native/native_parties.h"
#include "native/native_queues.h"
#include "native/native_state.h"
#include "native/native_tables.h"

/* The vdso, which the kernel maps into every process: a copy of our own. */

/* Finds the mapping of this process that begins at start. Returns 0 or -ENOENT. */
static int find_end(uint64_t start, uint64_t *end)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	uint64_t from;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%" SCNx64 "-%" SCNx64, &from, end) == 2 && from == start;
	if (f)
		fclose(f);
	return found ? 0 : -ENOENT;
}

/* Returns a memfd with a copy, which the caller closes, and its mapping's size; or -errno. */
static int vdso_copy(uint64_t *bytes)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR), end = 0;
	int err = start ? find_end(start, &end) : -ENOENT, fd;

	if (err)
		return err;
	*bytes = end - start;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_all(fd, (const void *)(uintptr_t)start, *bytes);
	if (err)
		close(fd);
	return err ? err : fd;
}

/* Tells the BPF side which processes have which mappings. */

/* Lists are rewritten again after REWRITE_TIMES the time that it took, within these limits. */
#define REWRITE_TIMES 32
#define REWRITE_MIN_NS (2 * NS_PER_MS)
#define REWRITE_MAX_NS (20 * NS_PER_MS)

static uint64_t rewrite_pause(const struct native *n)
{
	uint64_t ns = REWRITE_TIMES * n->lists_took_ns;

	return ns < REWRITE_MIN_NS ? REWRITE_MIN_NS : ns > REWRITE_MAX_NS ? REWRITE_MAX_NS : ns;
}

/* A place is sent this many times, a second apart, while the BPF side does not know the process. */
#define PLACE_TRIES 10

static void put_place(struct native *n, struct process *p)
{
	const struct list *l = p->list;
	struct native_place place;

	if (!l || !l->stamp || p->placed == l->stamp || p->place_failures >= PLACE_TRIES)
		return;
	place = (struct native_place){ .chunk = l->chunk, .cnt = l->cnt, .stamp = l->stamp };
	if (n->args.maps.put_place(n->args.maps.ctx, p->tgid, &place)) {
		p->place_failures++;
		n->places_ns = n->now + NS_PER_S;
		return;
	}
	p->placed = l->stamp;
	p->place_failures = 0;
}

static void put_places(struct native *n)
{
	struct process *p;
	size_t pos = 0;

	if (n->now < n->places_ns)
		return;
	n->places_ns = UINT64_MAX;
	while ((p = u64map_next(&n->processes, &pos)))
		put_place(n, p);
}

static void write_lists(struct native *n)
{
	bool wrote, whole = true;
	struct list *l;
	uint64_t begin = now_ns();

	if (!n->lists_stale || n->now - n->lists_ns < rewrite_pause(n))
		return;
	for (l = n->lists; l; l = l->next) {
		whole &= !list_write(n, l, &wrote);
		if (wrote)
			n->places_ns = 0;
	}
	n->lists_ns = n->now;
	n->lists_took_ns = now_ns() - begin;
	n->lists_stale = !whole;
}

/* Rewrites outdated lists, and tells the BPF side where they are. */
static void places_write(struct native *n)
{
	write_lists(n);
	put_places(n);
}

#define MEMORY_BYTES (128u << 20)
#define POLL_NS NS_PER_MS
/* Delayed work is polled at this interval; work that can go on, as soon as possible. */
#define SOON_NS (20 * NS_PER_MS)
#define AT_ONCE_NS (NS_PER_MS / 4)

/* ---- beginning and end ---- */

static int start_helpers(struct native *n)
{
	int i, err = 0;

	for (i = 0; i < HELPERS && !err; i++)
		err = helper_start(n, &n->helpers[i]);
	if (err == -ENOENT)
		log_error("machine code requires the program tachbpf-elf, which was not found: it "
			  "was built without it (NATIVE=0), or not installed");
	else if (err)
		log_error("cannot start tachbpf-elf: %s", strerror(-err));
	return err;
}

static void add_vdso(struct native *n)
{
	n->vdso_fd = vdso_copy(&n->vdso_bytes);
	if (n->vdso_fd >= 0)
		n->vdso = files_add(n, FILE_VDSO, "[vdso]");
	/* Nobody can map another file in its place. */
	if (n->vdso)
		file_push(n, QUEUE_OPEN, n->vdso);
}

static int set_up(struct native *n, const struct native_args *args)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int i;

	n->args = *args;
	n->now = now_ns();
	n->places_ns = UINT64_MAX;
	n->opener.worker.kind = &native_opener_kind;
	n->cache.worker.kind = &native_cache_kind;
	n->debug.worker.kind = &native_debug_kind;
	n->debug.hurry = args->debug_later;
	n->opener.fd = n->cache.fd = n->vdso_fd = n->debug.fd = n->debug.dir = -1;
	for (i = 0; i < HELPERS; i++)
		n->helpers[i] = (struct helper){ .role = i, .pidfd = -1, .fd = -1,
						 .opener_end = -1 };
	n->epoll = epoll_create1(EPOLL_CLOEXEC);
	n->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (n->epoll < 0 || n->timer < 0 || epoll_ctl(n->epoll, EPOLL_CTL_ADD, n->timer, &ev))
		return -errno;
	n->memory = native_memory_new(args->maps.add_slab, args->maps.ctx,
				      args->memory_bytes ? args->memory_bytes : MEMORY_BYTES);
	n->cache_dir = args->cache ? strdup(args->cache) : NULL;
	return n->memory && (n->cache_dir || !args->cache) ? 0 : -ENOMEM;
}

struct native *native_new(const struct native_args *args)
{
	struct native *n = calloc(1, sizeof(*n));
	int err = n ? 0 : -ENOMEM;

	if (n) {
		err = set_up(n, args);
		if (err)
			log_error("cannot record machine code: %s", strerror(-err));
		else
			err = debug_begin(n);
		if (!err)
			err = start_helpers(n);
	}
	if (err) {
		native_free(n);
		errno = -err;
		return NULL;
	}
	add_vdso(n);
	parties_start(n);
	return n;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void native_free(struct native *n)
{
	if (!n)
		return;
	parties_end(n);
	debug_end(n);
	processes_free(n);
	expect_free(n);
	files_free(n);
	texts_forget(&n->texts);
	native_memory_free(n->memory);
	free(n->opener.worker.stuck);
	free(n->cache.worker.stuck);
	free(n->cache_dir);
	close_fd(n->vdso_fd);
	close_fd(n->timer);
	close_fd(n->epoll);
	free(n);
}

/* ---- processes ---- */

/* Requests that are still unsent are sent at the next poll, so that should come soon. */
static void poll_soon(struct native *n)
{
	const struct itimerspec at = { .it_value.tv_nsec = AT_ONCE_NS };

	timerfd_settime(n->timer, 0, &at, NULL);
}

int native_begin(struct native *n, pid_t tgid, uint64_t start_ns, uint32_t uid, pid_t parent)
{
	n->now = now_ns();
	poll_soon(n);
	return process_begin(n, tgid, start_ns, uid, parent);
}

void native_end(struct native *n, pid_t tgid)
{
	n->now = now_ns();
	process_end(n, tgid);
}

void native_stale(struct native *n, pid_t tgid)
{
	struct process *p = process_find(n, tgid);

	if (p && (!p->waits || (p->request && !p->again)))
		process_stale(n, p);
}

/* ---- answers ---- */

static void secret_known(struct native *n, const struct elf_message *m)
{
	if (m->result || m->bytes != sizeof(n->secret) || n->has_secret) {
		log_warn("cannot use %s: %s; the tables are rebuilt on each run", n->cache_dir,
			 strerror(m->result < 0 ? -m->result : EBADMSG));
		cache_end(n);
		return;
	}
	memcpy(n->secret, n->data, sizeof(n->secret));
	n->has_secret = n->cache.ready = true;
}

/* The opener passes it to the helper that wants it. */
static void pass_cached(struct native *n, const struct elf_message *m, int fd)
{
	struct elf_message to = *m;

	to.kind = OPENER_CACHED;
	to.bytes = 0;
	native_send(n->opener.fd, &to, NULL, fd);
}

static void want_cached(struct native *n, const struct elf_message *m)
{
	struct elf_message to = *m;

	to.kind = CACHE_OPEN;
	if (n->cache.ready && m->bytes == 16 && !cache_ask(n, &to, n->data, -1))
		return;
	to.result = -ENOENT;
	pass_cached(n, &to, -1);
}

/* Returns 0, -EAGAIN if there is nothing more, or another -errno if the party has ended. */
static int take_cache(struct native *n)
{
	struct elf_message m;
	int fd, err = native_receive(n->cache.fd, &m, n->data, &fd);

	if (!err && m.kind == CACHE_READY)
		secret_known(n, &m);
	else if (!err && m.kind == CACHE_OPENED)
		pass_cached(n, &m, fd);
	close_fd(fd);
	return err;
}

static int take_opener(struct native *n)
{
	struct elf_message m;
	int fd, err = native_receive(n->opener.fd, &m, n->data, &fd);

	close_fd(fd);
	if (!err && m.kind == OPENED)
		file_opened(n, &m);
	else if (!err && m.kind == WANT_CACHE)
		want_cached(n, &m);
	else if (!err && m.kind == FOUND) {
		opener_answered(n);
		expect_found(n, &m);
	} else if (!err && m.kind == MAPS) {
		if (!m.more)
			opener_answered(n);
		mappings_take(n, &m, n->data);
	}
	return err;
}

static int take_helper(struct native *n, struct helper *h)
{
	struct elf_message m;
	int fd, err = native_receive(h->fd, &m, n->data, &fd);

	if (!err)
		h->answered_ns = n->now;
	return err ? err : helper_answered(n, h, &m, fd);
}

static void opener_gone(struct native *n, bool ended)
{
	if (!opener_is_lost(n, ended))
		return;
	files_lost(n);
	mappings_lost(n);
}

static void take_answers(struct native *n, uint64_t until)
{
	int err = 0, i;

	while (n->cache.worker.pid && !err && now_ns() < until)
		err = take_cache(n);
	if (err && err != -EAGAIN)
		cache_lost(n);
	for (i = 0, err = 0; i < HELPERS; i++, err = 0) {
		struct helper *h = &n->helpers[i];

		while (h->pid && !err && now_ns() < until)
			err = take_helper(n, h);
		if (h->pid && ((err && err != -EAGAIN) || helper_is_late(n, h)))
			helper_lost(n, h, err == -EAGAIN || !err);
		n->more |= !err && h->pid;
	}
	while (n->opener.worker.pid && !err && now_ns() < until)
		err = take_opener(n);
	n->more |= !err && n->opener.worker.pid;
	opener_gone(n, err && err != -EAGAIN);
}

/* ---- the poll ---- */

static bool waits_for_time(const struct native *n)
{
	return n->lists_stale || n->waiting || file_waits(n, QUEUE_OPEN) ||
	       file_waits(n, QUEUE_COPY) || !n->has_secret || !n->shared_put;
}

static void set_timer(struct native *n)
{
	struct itimerspec at = { .it_value.tv_sec = 1 };
	uint64_t ns = n->more ? AT_ONCE_NS : waits_for_time(n) ? SOON_NS : NS_PER_S;

	at.it_value.tv_sec = (time_t)(ns / NS_PER_S);
	at.it_value.tv_nsec = (long)(ns % NS_PER_S);
	timerfd_settime(n->timer, 0, &at, NULL);
}

void native_poll(struct native *n)
{
	uint64_t until = now_ns() + POLL_NS;

	n->now = until - POLL_NS;
	n->more = false;
	texts_forget(&n->texts);
	if (n->names.full)
		files_forget_names(n);
	native_memory_settle(n->memory, n->now);
	take_answers(n, until);
	parties_start(n);
	if (!tables_begin(n)) {
		mappings_ask(n);
		files_ask(n);
		debug_poll(n);
		tables_copy(n, until);
		places_write(n);
	}
	set_timer(n);
}

#define QUICK_WAIT_NS (4 * NS_PER_MS)

uint64_t native_wait_ns(const struct native *n, uint64_t now_ns, uint64_t limit_ns)
{
	return now_ns < n->quick_ns && QUICK_WAIT_NS < limit_ns ? QUICK_WAIT_NS : limit_ns;
}

int native_fd(const struct native *n)
{
	return n->epoll;
}

/* ---- waiting for names ---- */

static bool is_due(const struct native *n)
{
	const struct process *p;

	for (p = n->waiting; p; p = p->next)
		if (p->request || p->due_ns <= n->now)
			return true;
	return false;
}

/* Waits for mappings, and for what their files are. */
static bool waits_for_files(const struct native *n)
{
	const struct file *f;
	size_t i;

	if (is_due(n))
		return true;
	for (i = 0; i < n->file_cnt; i++) {
		f = n->files[i];
		if (f->refs && !f->has_facts && f->stage < FILE_MATCHING &&
		    (f->stage != FILE_NEW || f->opening || f->queued))
			return true;
	}
	return false;
}

static bool waits_for_names(const struct native *n)
{
	const struct helper *h = &n->helpers[ELF_ROLE_NAMES];
	size_t i;

	if (h->request || file_waits(n, QUEUE_NAMES))
		return true;
	for (i = 0; i < n->file_cnt; i++)
		if (n->files[i]->wanted_cnt)
			return true;
	return false;
}

static bool waits_for_debug(const struct native *n)
{
	return debug_waits(n) || waits_for_names(n);
}

/* Waits for everything before FILE_READY: the tables of all known processes. */
static bool waits_for_tables(const struct native *n)
{
	size_t i;

	if (n->waiting || n->opener.asked || n->lists_stale || !n->shared_put || expect_waits(n))
		return true;
	for (i = 0; i < n->file_cnt; i++)
		if (n->files[i]->refs && n->files[i]->stage < FILE_READY)
			return true;
	return false;
}

/* idle_ms: how long nobody may have anything to do. */
static void poll_while(struct native *n, bool (*waits)(const struct native *), int idle_ms,
		       int timeout_ms)
{
	uint64_t now = now_ns(), end = now + (uint64_t)timeout_ms * NS_PER_MS, busy = now;
	struct pollfd p = { .fd = n->epoll, .events = POLLIN };

	for (;;) {
		native_poll(n);
		now = now_ns();
		if (parties_busy_ns(n, now) > busy)
			busy = parties_busy_ns(n, now);
		if (!waits(n) || now >= end || now >= busy + (uint64_t)idle_ms * NS_PER_MS)
			break;
		poll(&p, 1, 20);
	}
}

void native_settle(struct native *n, int idle_ms, int timeout_ms)
{
	poll_while(n, waits_for_names, idle_ms, timeout_ms);
}

void native_catch_up(struct native *n, int timeout_ms)
{
	if (!n->unread)
		return;
	n->unread = false;
	mappings_hurry(n);
	poll_while(n, waits_for_files, timeout_ms, timeout_ms);
}

void native_settle_debug(struct native *n, int timeout_ms)
{
	poll_while(n, waits_for_debug, timeout_ms, timeout_ms);
}

size_t native_debug_files(const struct native *n)
{
	return n->args.debug_later ? 0 : debug_waits(n);
}

void native_hurry(struct native *n, bool on)
{
	n->debug.hurry = on || n->args.debug_later;
}

uint32_t native_renewed(const struct native *n)
{
	return n->debug.renewed;
}

void native_prepare(struct native *n, int timeout_ms)
{
	poll_while(n, waits_for_tables, timeout_ms, timeout_ms);
}
