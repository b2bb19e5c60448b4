// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * inspect_files.c - finds the CPythons in a process' mapped files. See inspect_files.h.
 *
 * The interpreter is in the executable, in a library named libpython*, or in any other file that is
 * mapped executable (a plug-in, a program that was started through ld.so); files are inspected in
 * this order. File names have no other influence.
 */
#include "target/inspect_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/time.h"
#include "target/mapped_files.h"

/* The process that is being inspected. */
struct inspection {
	pid_t tgid;
	struct mapped_files mapped;
	uint64_t runtime_copy, none_copy;	/* addresses of the executable's copies; 0: none */
	bool missed;			/* a file could not be opened, so its content is unknown */
	int err;			/* -ENOENT, or -ENOTSUP with a reason in out->why */
	struct inspected *out;
};
/* There is one at a time. It is too large for the stack. */
static struct inspection inspection;

/* The cache's entry for the file of a mapping. 0 or -errno. */
static int known_file(struct file_cache *c, const struct mapped *m, struct known_file **out)
{
	return file_cache_mapped(c, inspection.tgid, &m->map, out);
}

/* Asks the parser about a mapped file. As file_cache_ask(). */
static int ask_about(struct known_file *f, enum file_question q, const struct mapped *m)
{
	return file_cache_ask(f, q, inspection.tgid, &m->map);
}

/* The process' mapping of the file; NULL: none. */
static const struct mapped *find_mapped(const struct inspection *cur, const struct file_id *id)
{
	const struct mapped *m;
	struct file_id its;
	struct stat st;

	for (m = cur->mapped.files; m < cur->mapped.files + cur->mapped.cnt; m++) {
		if (proc_stat_mapped(cur->tgid, &m->map, &st))
			continue;
		its = file_id_of(&st);
		if (file_id_same(&its, id))
			return m;
	}
	return NULL;
}

int file_cache_fd(struct file_cache *c, const struct file_id *id, pid_t about)
{
	struct inspection *cur = &inspection;
	struct known_file *f = file_cache_find(c, id);
	const struct mapped *m;
	int err;

	if (f && f->fd >= 0)
		return f->fd;
	cur->tgid = proc_living_task(about);
	err = cur->tgid ? mapped_files_read(&cur->mapped, cur->tgid) : -ENOENT;
	m = err ? NULL : find_mapped(cur, id);
	if (!err)
		err = m ? known_file(c, m, &f) : -ENOENT;
	if (!err && f->fd < 0)
		err = -ENOENT;
	return err ? err : f->fd;
}

void py_proc_of_image(const struct cpython_image *img, struct py_proc *p)
{
	*p = (struct py_proc){
		.runtime = img->runtime_vaddr,
		.tss = img->tss_vaddr,
		.interps = img->interps_vaddr,
		.current = img->current_vaddr,
		.collecting = img->collecting_vaddr,
		.gc_stats = img->gc_stats_vaddr,
		.gil = img->gil_vaddr,
		.main_id = img->main_id_vaddr,
		.none = img->none_vaddr,
		.epoch = img->epoch_vaddr,
		.tls_index = img->tls_index_vaddr,
		.tls_off = img->tls_off,
		.tss_key = -1,
		.state = PY_PROC_PYTHON,
		.tstate_how = img->tstate_how,
		.l = img->layout,
	};
	if (!p->none && img->minor >= 13)
		p->none = PY_NONE_NOWHERE;
}

/* The runtime has another address than in the image: move all addresses inside it. */
static void move_runtime(struct py_proc *p, uint64_t to)
{
	uint64_t by = to - p->runtime;

	p->runtime += by;
	p->tss += p->tss ? by : 0;
	p->interps += p->interps ? by : 0;
	p->current += p->current ? by : 0;
	p->collecting += p->collecting ? by : 0;
	p->gc_stats += p->gc_stats ? by : 0;
	p->main_id += p->main_id ? by : 0;
}

static void add_found(struct inspection *cur, const struct known_file *f, const struct mapped *m,
		      uint64_t bias)
{
	struct inspected_python *p = &cur->out->pythons[cur->out->python_cnt];
	struct py_proc file;

	if (cur->out->python_cnt == INSPECT_PYTHONS_MAX)
		return;
	p->file = f->id;
	p->image = f->image;
	snprintf(p->name, sizeof(p->name), "%s", strrchr(m->path, '/') + 1);
	py_proc_of_image(&f->image, &file);
	p->proc = file;
	py_proc_relocate(&p->proc, &file, bias);
	if (cur->runtime_copy)
		move_runtime(&p->proc, cur->runtime_copy);
	if (cur->none_copy)
		p->proc.none = cur->none_copy;
	cur->out->python_cnt++;
}

/* Keep the reason if a file is an unsupported Python. */
static void keep_refusal(struct inspection *cur, const struct known_file *f, const struct mapped *m)
{
	/* The content of a 32-bit program is unknown; one that is named python counts as Python. */
	bool python = f->err == -ENOTSUP || (f->err == -ENOEXEC && m->python);

	if (!python || cur->err != -ENOENT)
		return;
	snprintf(cur->out->why, INSPECT_WHY_MAX, "%s", f->why);
	cur->err = -ENOTSUP;
}

/* Inspect one mapped file. 0, -ENOMEM or -EBUSY. */
static int inspect_file(struct file_cache *c, const struct mapped *m)
{
	struct inspection *cur = &inspection;
	struct known_file *f;
	int err = known_file(c, m, &f);
	uint64_t bias;

	if (err) {
		cur->missed |= err != -EINVAL;	/* -EINVAL: a device */
		return err == -ENOMEM || err == -EBUSY ? err : 0;
	}
	bias = m->map.start - f->image.first_load_vaddr;
	if (!f->err) {
		add_found(cur, f, m, bias);
	} else if (f->err == -EXDEV) {
		cur->runtime_copy = f->image.runtime_vaddr ? f->image.runtime_vaddr + bias : 0;
		cur->none_copy = f->image.none_vaddr ? f->image.none_vaddr + bias : 0;
	} else {
		keep_refusal(cur, f, m);
	}
	return 0;
}

/*
 * Inspect the executable, then libraries named libpython; if they contain no CPython, all other
 * code.
 */
static int inspect_mapped(struct file_cache *c)
{
	struct inspection *cur = &inspection;
	struct mapped_files *m = &cur->mapped;
	size_t i;
	int err = 0;

	if (m->exe_at != MAPPED_NOWHERE)
		err = inspect_file(c, &m->files[m->exe_at]);
	for (i = 0; !err && i < m->cnt; i++)
		if (i != m->exe_at && m->files[i].libpython &&
		    !mapped_files_is_other_view(m, &m->files[i]))
			err = inspect_file(c, &m->files[i]);
	if (cur->out->python_cnt || cur->err != -ENOENT)
		return err;
	for (i = 0; !err && i < m->cnt; i++)
		if (i != m->exe_at && m->files[i].code && !m->files[i].libpython)
			err = inspect_file(c, &m->files[i]);
	return err;
}

/* The C library; or the executable, if it is linked statically or will map one. */
static const struct mapped *find_libc(const struct mapped_files *m, bool *seen)
{
	size_t at = m->libc_at != MAPPED_NOWHERE ? m->libc_at : m->exe_at;

	*seen = m->libc_at != MAPPED_NOWHERE;
	return at != MAPPED_NOWHERE ? &m->files[at] : NULL;
}

/* Find the distance of pthread_self() below the thread pointer: out->self_below, self_err. */
static int find_self(struct file_cache *c)
{
	struct inspected *out = inspection.out;
	const struct mapped *m = find_libc(&inspection.mapped, &out->libc_seen);
	struct known_file *f;
	int err;

	out->self_err = -EAGAIN;
	if (!m)
		return 0;
	err = known_file(c, m, &f);
	if (err)
		return err == -ENOMEM || err == -EBUSY ? err : 0;
	err = ask_about(f, FILE_SELF_BELOW, m);
	if (!f->answers[FILE_SELF_BELOW].known)
		return err == -EBUSY ? -EBUSY : 0;
	out->self_err = err;
	out->self_below = f->self_below;
	return 0;
}

static bool needs_self(const struct inspected *out)
{
	size_t i;

	for (i = 0; i < out->python_cnt; i++)
		if (out->pythons[i].image.needs_self)
			return true;
	return false;
}

/* Forget the last process. */
static void begin_inspection(struct inspection *cur, pid_t tgid, struct inspected *out)
{
	cur->tgid = tgid;
	cur->runtime_copy = cur->none_copy = 0;
	cur->missed = false;
	cur->err = -ENOENT;
	cur->out = out;
	out->files = 0;
	out->otel.cnt = 0;
	out->python_cnt = 0;
}

/* Report that no Python was found. */
static int say_none(const struct inspection *cur)
{
	/* A file could not be opened: the next inspection must try again. */
	if (cur->missed)
		cur->out->files = 0;
	if (!cur->mapped.cut || cur->err != -ENOENT)
		return cur->err;
	snprintf(cur->out->why, INSPECT_WHY_MAX, "no Python was found in the first %d MiB of its "
		 "list of mappings, and the rest is not read", PROC_MAPS_BYTES_MAX >> 20);
	return -ENOTSUP;
}

/* Look for the thread context's variable in a file. 0: *tls; -ENOENT; -EBUSY; other -errno. */
static int tls_of(struct file_cache *c, const struct mapped *m, struct elf_tls *tls)
{
	struct known_file *f;
	int err = known_file(c, m, &f);

	if (!err)
		err = ask_about(f, FILE_THREAD_CTX, m);
	if (!err)
		*tls = f->tls;
	return err;
}

/* The C library of a file that does not name one. */
static bool has_musl(const struct mapped_files *m)
{
	return m->libc_at != MAPPED_NOWHERE && strstr(m->files[m->libc_at].path, "/ld-musl-");
}

/*
 * The i-th of the process' files with code, the executable first; NULL: the i-th is not one, or was
 * the executable. i goes from 0 to m->cnt.
 */
static const struct mapped *code_file(const struct mapped_files *m, size_t i)
{
	size_t at = i ? i - 1 : m->exe_at;

	if (at >= m->cnt || (i && (at == m->exe_at || !m->files[at].code)))
		return NULL;
	return &m->files[at];
}

int inspect_thread_ctx(struct file_cache *c, pid_t task, struct inspected_tls *out)
{
	struct mapped_files *m = &inspection.mapped;
	const struct mapped *f = NULL;
	size_t i;
	int err, none = -ENOENT;

	inspection.tgid = task;
	err = mapped_files_read(m, task);
	if (err)
		return err;
	for (i = 0; i <= m->cnt; i++) {
		f = code_file(m, i);
		if (!f)
			continue;
		err = tls_of(c, f, &out->tls);
		if (!err)
			break;
		if (err == -EBUSY || err == -ENOMEM)
			none = err;
	}
	if (i > m->cnt)
		return none;
	out->bias = f->map.start - out->tls.first_load;
	out->musl = out->tls.musl || (!out->tls.glibc && has_musl(m));
	return 0;
}

/* Add what one file contains to *out. 0, or the -errno after which another try may find more. */
static int add_async(struct file_cache *c, const struct mapped *m, struct async_layout *out,
		     bool *python)
{
	struct known_file *f;
	int err = known_file(c, m, &f);

	if (err)
		return err == -EBUSY || err == -ENOMEM ? err : 0;
	if (!f->err && !*python) {
		*python = true;
		out->coro = f->image.coro;
	}
	if (out->task.task_bytes)
		return 0;
	err = ask_about(f, FILE_ASYNC, m);
	if (!err)
		out->task = f->tasks;
	return err == -EBUSY ? -EBUSY : 0;
}

int inspect_async(struct file_cache *c, pid_t task, struct async_layout *out)
{
	struct mapped_files *m = &inspection.mapped;
	const struct mapped *f;
	bool python = false;
	size_t i;
	int err, none = -ENOENT;

	*out = (struct async_layout){ 0 };
	inspection.tgid = task;
	err = mapped_files_read(m, task);
	for (i = 0; !err && i <= m->cnt; i++) {
		if (python && (out->task.task_bytes || !out->coro.gen_frame))
			break;
		f = code_file(m, i);
		if (f && add_async(c, f, out, &python))
			none = -EBUSY;
	}
	if (err)
		return err;
	if (python && !out->coro.gen_frame)
		return -EOPNOTSUPP;
	out->valid = python && out->task.task_bytes;
	return out->valid ? 0 : none;
}

static void say_exe(const struct mapped_files *m, struct inspected *out)
{
	const struct proc_map *exe = m->exe_at < m->cnt ? &m->files[m->exe_at].map : NULL;

	out->exe_dev = exe ? exe->dev : 0;
	out->exe_ino = exe ? exe->inode : 0;
}

/* Which program the process executes; 0: unknown, or an exec is in progress. */
static uint64_t program_of(pid_t task)
{
	struct proc_stat st;

	return proc_stat(task, &st) ? 0 : st.program;
}

/* Returns true if everything that was found is of one program, which is complete. */
static bool is_steady(const struct inspection *cur)
{
	struct proc_stat now;

	return proc_stat(cur->tgid, &now) || (!now.in_exec && now.program == cur->out->program);
}

int inspect_files(struct file_cache *c, const struct proc_info *who, uint64_t before,
		  struct inspected *out)
{
	struct inspection *cur = &inspection;
	int err;

	begin_inspection(cur, who->task, out);
	out->program = program_of(cur->tgid);
	out->seen_ns = now_ns();
	err = mapped_files_read(&cur->mapped, cur->tgid);
	snprintf(out->why, sizeof(out->why), "%s", strerror(-err));
	if (err)
		return err;
	out->files = cur->mapped.hash;
	out->otel = cur->mapped.otel;
	say_exe(&cur->mapped, out);
	if (before == out->files)
		return -EALREADY;
	err = inspect_mapped(c);
	if (err)
		return err;
	out->copied = cur->runtime_copy || cur->none_copy;
	if (!out->python_cnt)
		return say_none(cur);
	err = needs_self(out) ? find_self(c) : 0;
	if (err || is_steady(cur))
		return err;
	out->files = out->seen_ns = 0;
	return -EAGAIN;
}

bool inspected_check(struct inspected *i, bool found)
{
	uint32_t n;

	i->why[sizeof(i->why) - 1] = '\0';
	if (i->python_cnt > INSPECT_PYTHONS_MAX || i->otel.cnt > OTEL_MAPPINGS_MAX ||
	    (found && !i->python_cnt))
		return false;
	for (n = 0; n < i->python_cnt; n++) {
		struct inspected_python *p = &i->pythons[n];

		p->name[sizeof(p->name) - 1] = '\0';
		p->image.version[sizeof(p->image.version) - 1] = '\0';
	}
	return true;
}
