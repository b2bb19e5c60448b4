// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * discover.c - see discover.h. The inspector finds the CPythons (inspector.h); this file determines
 * which are initialised, and chooses one. known_images.c keeps their images.
 */
#include "target/discover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "memory/remote_mem.h"
#include "target/inspector.h"

struct discovery {
	struct known_images images;
	const struct cpython_image *last;	/* the image found last, held; NULL: none */
};

struct discovery *discovery_new(void)
{
	struct discovery *d = calloc(1, sizeof(*d));

	if (d)
		known_images_init(&d->images);
	return d;
}

void discovery_free(struct discovery *d)
{
	if (!d)
		return;
	known_images_free(&d->images);
	free(d);
}

struct known_images *discovery_images(struct discovery *d)
{
	return &d->images;
}

/* The image found in this process is held until the next one is found. */
static const struct cpython_image *keep_image(struct discovery *d, const struct inspected_python *p,
					      pid_t tgid)
{
	const struct cpython_image *before = d->last;

	d->last = known_images_find(&d->images, &p->file);
	if (!d->last)
		d->last = known_images_get(&d->images, &p->file, &p->image,
					   inspector_owner(tgid));
	if (before)
		known_image_release(before);
	return d->last;
}

int discovery_mem(const struct cpython_image *image, pid_t about, uint64_t vaddr, void *buf,
		  size_t len)
{
	return inspector_mem(known_image_file(image), about, vaddr, buf, len);
}

/* ---- the CPythons of a process ---- */

enum ready discovery_ready(pid_t task, const struct py_proc *p)
{
	uint64_t head = 0;
	int err = remote_mem_read((void *)(intptr_t)task, p->interps, &head, sizeof(head));

	if (err)
		return err == -EFAULT ? READY_NO : err == -EBUSY ? READY_BUSY : READY_UNKNOWN;
	return head ? READY_YES : READY_NO;
}

/* The runtime that is being walked stays, unless it is certainly not initialised. */
static int rank_python(const struct inspected_python *p, enum ready ready, uint64_t prefer)
{
	if (p->proc.runtime == prefer && ready != READY_NO)
		return 3;
	return ready == READY_YES ? 2 : ready != READY_NO;
}

static void describe_other(const struct inspected_python *taken,
			   const struct inspected_python *other, char *out)
{
	char name[4 * INSPECT_NAME_MAX];

	snprintf(out, DISCOVERY_WHY_MAX, "a second CPython in it (%s in %.100s) runs, too; only "
		 "%s is profiled", other->image.version,
		 escape_text(other->name, strnlen(other->name, INSPECT_NAME_MAX), name,
			     sizeof(name)), taken->image.version);
}

/*
 * Of several CPythons, choose the preferred one or the first that is initialised; if none is, the
 * first one. The check costs about 50 us, so a single one is chosen without it.
 */
static const struct inspected_python *choose_python(pid_t task, const struct inspected *in,
						    uint64_t prefer, struct discovered *out)
{
	const struct inspected_python *taken = &in->pythons[0], *p;
	enum ready ready[INSPECT_PYTHONS_MAX] = { READY_UNASKED };
	size_t i;

	for (i = 0; i < in->python_cnt && in->python_cnt > 1; i++)
		ready[i] = discovery_ready(task, &in->pythons[i].proc);
	for (i = 1; i < in->python_cnt; i++)
		if (rank_python(&in->pythons[i], ready[i], prefer) >
		    rank_python(taken, ready[taken - in->pythons], prefer))
			taken = &in->pythons[i];
	for (i = 0; i < in->python_cnt && !out->also[0]; i++) {
		p = &in->pythons[i];
		if (ready[i] == READY_YES && p->proc.runtime != taken->proc.runtime)
			describe_other(taken, p, out->also);
	}
	out->proc = taken->proc;
	out->ready = ready[taken - in->pythons];
	out->several = in->python_cnt > 1;
	out->copied = in->copied;
	out->exe_dev = in->exe_dev;
	out->exe_ino = in->exe_ino;
	return taken;
}

/* The distance of pthread_self() below the thread pointer. -EAGAIN: the C library may come. */
static int take_self(const struct inspected *in, const struct cpython_image *image,
		     struct discovered *out)
{
	bool will_come = !in->libc_seen && (image->needs_glibc || image->needs_musl);

	if (!in->self_err) {
		out->proc.self_below = in->self_below;
		return 0;
	}
	snprintf(out->why, sizeof(out->why), "%s", in->libc_seen || !will_come ?
		 "pthread_self() of its C library is of an unknown kind" :
		 "it has no known C library (yet)");
	return will_come || in->self_err == -EAGAIN ? -EAGAIN : -ENOTSUP;
}

/*
 * The inspector has not answered, for any reason: it may not even have been started. Its errors are
 * no answers about the process, as -ENOENT or -EAGAIN would be.
 */
static int no_answer(int err, struct discovered *out)
{
	if (err != -ETIMEDOUT && err != -EUSERS && err != -EBUSY && err != -EBADMSG)
		snprintf(out->why, sizeof(out->why), "it cannot be inspected now: %s",
			 strerror(-err));
	else
		snprintf(out->why, sizeof(out->why), "%s", err == -ETIMEDOUT ?
			 "a file that it has mapped does not answer" : err == -EUSERS ?
			 "files of other processes of its user do not answer" :
			 "no inspector process is available");
	return err == -ETIMEDOUT || err == -EUSERS ? err : -EBUSY;
}

int discovery_inspect(struct discovery *d, const struct proc_info *who, uint64_t *files,
		      uint64_t prefer, struct discovered *out)
{
	const struct inspected_python *taken;
	const struct inspected *in = NULL;
	int err = inspector_inspect(who, *files, &in);

	out->also[0] = '\0';
	out->otel.cnt = 0;
	out->program = 0;
	if (!in || err == -EBADMSG)
		return no_answer(err, out);
	snprintf(out->why, sizeof(out->why), "%s", in->why);
	*files = in->files;
	out->otel = in->otel;
	out->program = in->program;
	out->seen_ns = in->seen_ns;
	if (err)
		return err;
	taken = choose_python(who->task, in, prefer, out);
	out->image = keep_image(d, taken, who->tgid);
	if (!out->image) {
		snprintf(out->why, sizeof(out->why), "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	return out->image->needs_self ? take_self(in, out->image, out) : 0;
}
