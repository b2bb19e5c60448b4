// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_debug.c - see native_debug.h. */
#include "native/native_debug.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/util.h"
#include "native/debug_asker.h"
#include "native/native_parties.h"
#include "native/native_queues.h"

/* Files of one user that servers are asked for. */
#define OF_USER_MAX 1024
/* Servers that fail this often in a row are not asked again, unless names come later. */
#define FAILURES_MAX 3
/* Then they pause at each failure, twice as long each time; a file is given up after some. */
#define PAUSE_NS (10 * NS_PER_S)
#define PAUSE_DOUBLINGS 8
#define FAILURES_OF_FILE 12
/* The worker ends a download itself; this is for one that hangs. */
#define LATE_NS ((DEBUG_FILE_S + 5) * NS_PER_S)

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int debug_begin(struct native *n)
{
	struct debug *d = &n->debug;

	if (!n->args.debug_urls)
		return 0;
	d->urls = strdup(n->args.debug_urls);
	d->dir = debug_cache_open(n->args.debug_cache);
	if (d->dir < 0)
		log_error("cannot use %s: %s", n->args.debug_cache, strerror(-d->dir));
	return d->dir < 0 ? d->dir : d->urls ? 0 : -ENOMEM;
}

static void end_worker(struct debug *d)
{
	close_fd(&d->fd);
	if (d->worker.pid)
		worker_end(&d->worker);
}

void debug_end(struct native *n)
{
	end_worker(&n->debug);
	close_fd(&n->debug.dir);
	free(n->debug.urls);
	free(n->debug.worker.stuck);
	n->debug.urls = NULL;
}

void debug_want(struct native *n, struct file *f)
{
	if (n->debug.dir < 0 || f->debug != DEBUG_UNASKED || f->info.build_id_bytes < 2)
		return;
	f->debug = DEBUG_WANTED;
	n->debug.wanted++;
	file_push(n, QUEUE_DEBUG, f);
	n->more = true;
}

bool debug_may_come(const struct native *n, const struct file *f)
{
	return n->debug.dir >= 0 && f->debug != DEBUG_SETTLED && f->info.build_id_bytes >= 2;
}

/* found: the opener has the debug file. The names helper reads all again, and names are missing. */
static void settle_file(struct native *n, struct file *f, bool found)
{
	f->debug = DEBUG_SETTLED;
	n->debug.wanted--;
	n->counts.debug_found += found;
	if (!found)
		return;
	f->partial = false;
	n->debug.renewed += n->args.debug_later;
	f->reread = n->helpers[ELF_ROLE_NAMES].file == f;
	helper_tell(n, ELF_ROLE_NAMES, HELPER_REREAD, f->number);
	native_names_forget(&f->names);
}

/* All that is awaited will not come. */
static void turn_off(struct native *n, const char *why)
{
	struct file *f;
	size_t i;

	log_warn("%s: %s; no more debug files are asked for", n->debug.urls, why);
	end_worker(&n->debug);
	close_fd(&n->debug.dir);
	n->debug.file = NULL;
	for (i = 0; i < n->file_cnt; i++) {
		f = n->files[i];
		if (f->debug == DEBUG_WANTED)
			settle_file(n, f, false);
	}
}

/* Returns true if the opener has it, which passes it to the helper that wants it. */
static bool give_opener(struct native *n, const struct file *f, int fd)
{
	struct elf_message m = { .kind = OPENER_DEBUG, .file = f->number,
				 .bytes = f->info.build_id_bytes };

	return fd >= 0 && n->opener.worker.pid &&
	       !native_send(n->opener.fd, &m, f->info.build_id, fd);
}

static const char *text_of(int err)
{
	return err == -ELIBACC ? "elfutils' libdebuginfod.so.1 is not installed" :
	       err == -ENOSYS ? "a static tachbpf cannot load libdebuginfod.so.1" : strerror(-err);
}

static void pause_requests(struct native *n)
{
	struct debug *d = &n->debug;
	unsigned int doublings = d->failures - 1;

	if (d->failures == FAILURES_MAX)
		log_warn("%s: %s; debug files are requested again from time to time", d->urls,
			 d->failure);
	if (doublings > PAUSE_DOUBLINGS)
		doublings = PAUSE_DOUBLINGS;
	d->again_ns = n->now + (PAUSE_NS << doublings);
}

static void note_failure(struct native *n, int err)
{
	struct debug *d = &n->debug;
	bool lasting = err == -ELIBACC || err == -ENOSYS;

	d->failure = text_of(err);
	d->failures++;
	if (lasting || (!n->args.debug_later && d->failures >= FAILURES_MAX))
		turn_off(n, d->failure);
	else if (n->args.debug_later)
		pause_requests(n);
}

/* The servers have not said whether they have the file, or its worker has ended. */
static void file_failed(struct native *n, struct file *f, int err)
{
	if (n->args.debug_later && ++f->debug_failures < FAILURES_OF_FILE)
		file_push(n, QUEUE_DEBUG, f);
	else
		settle_file(n, f, false);
	note_failure(n, err);
}

static void take_found(struct native *n, const struct elf_message *m, int fd)
{
	struct debug *d = &n->debug;
	struct file *f = d->file;

	if (!f || m->kind != DEBUG_FOUND || m->request != d->request)
		return;
	d->file = NULL;
	turn_charge(d->turn, TURN_SERVERS, n->now - d->asked_ns);
	if (m->result < 0 && m->result != -ENOENT && m->result != -EFBIG) {
		file_failed(n, f, m->result);
		return;
	}
	d->failures = 0;
	d->failure = NULL;
	settle_file(n, f, give_opener(n, f, fd));
}

/* The worker has ended, or hangs. */
static void lose_worker(struct native *n, bool ended)
{
	struct debug *d = &n->debug;
	struct file *f = d->file;
	int err = ended ? -EPIPE : -ETIMEDOUT;

	close_fd(&d->fd);
	if (ended)
		worker_lost(&d->worker);
	else
		worker_give_up(&d->worker, 0, false);
	d->file = NULL;
	if (!f) {
		note_failure(n, err);
		return;
	}
	turn_charge(d->turn, TURN_SERVERS, n->now - d->asked_ns);
	file_failed(n, f, err);
}

static void take_answers(struct native *n)
{
	struct debug *d = &n->debug;
	struct elf_message m;
	int err = 0, fd;

	while (d->fd >= 0 && !err) {
		err = native_receive(d->fd, &m, n->data, &fd);
		if (!err)
			take_found(n, &m, fd);
		if (fd >= 0)
			close(fd);
	}
	if (d->fd < 0)
		return;
	if (err && err != -EAGAIN)
		lose_worker(n, true);
	else if (d->file && n->now - d->asked_ns > LATE_NS)
		lose_worker(n, false);
}

/* Returns 0 or -errno. */
static int start_worker(struct native *n)
{
	struct debug *d = &n->debug;
	struct elf_message m = { .kind = DEBUG_BEGIN, .bytes = (uint32_t)strlen(d->urls) + 1 };
	struct epoll_event ev = { .events = EPOLLIN };
	int err;

	if (d->worker.pid)
		return 0;
	err = worker_converse(&d->worker, d->dir, &d->fd);
	if (err)
		return err;
	epoll_ctl(n->epoll, EPOLL_CTL_ADD, d->fd, &ev);
	err = native_send(d->fd, &m, d->urls, -1);
	if (err)
		end_worker(d);
	return err;
}

/* Returns the next file that may be asked for, or NULL. */
static struct file *next_file(struct native *n)
{
	struct file *f;

	while ((f = file_pop(n, QUEUE_DEBUG)) && f->turn->debug_asked >= OF_USER_MAX)
		settle_file(n, f, false);
	return f;
}

static void ask_next(struct native *n)
{
	struct debug *d = &n->debug;
	struct elf_message m = { .kind = DEBUG_FIND };
	struct file *f;
	int err;

	if (d->dir < 0 || d->file || n->now < d->again_ns || !file_waits(n, QUEUE_DEBUG))
		return;
	err = start_worker(n);
	f = err ? NULL : next_file(n);
	if (f) {
		f->turn->debug_asked += !f->debug_failures;
		m.request = d->request = ++n->requests ? n->requests : ++n->requests;
		m.bytes = f->info.build_id_bytes;
		m.file = f->number;
		d->file = f;
		d->turn = f->turn;
		d->asked_ns = n->now;
		n->counts.debug_asked += !f->debug_failures;
		err = native_send(d->fd, &m, f->info.build_id, -1);
	}
	if (err)
		note_failure(n, err);
}

void debug_poll(struct native *n)
{
	take_answers(n);
	ask_next(n);
}

size_t debug_waits(const struct native *n)
{
	return n->debug.wanted;
}
