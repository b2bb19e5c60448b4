// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* profile_set.c - see profile_set.h. Knows file names and session.json; readers know the rest. */
#include "commands/profile_set.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "commands/profile_types.h"
#include "formats/readers.h"
#include "model/sample_filter.h"
#include "model/thread_names.h"
#include "recording/regions_file.h"
#include "recording/sources_file.h"

#define WHY_BYTES 256

/* Files of a recording: of samples, and of memory. */
static const char *const suffixes[] = { ".tach", ".mlyze" };

/* Returns the length of a name without its suffix; 0: it has none of ours. */
static size_t stem_of(const char *name)
{
	size_t len = strlen(name), tail, i;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		tail = strlen(suffixes[i]);
		if (len > tail && !strcmp(name + len - tail, suffixes[i]))
			return len - tail;
	}
	return 0;
}

static char *escaped_path(const char *path)
{
	return text_escape(path, strlen(path));
}

/* "12-app.tach" is process 12, "app". Other names have no meaning. */
static void identity_from_name(struct profile_file *f)
{
	size_t stem = stem_of(f->name);
	unsigned long tgid;
	char *dash;

	if (!isdigit((unsigned char)*f->name) || !stem)
		return;
	errno = 0;
	tgid = strtoul(f->name, &dash, 10);
	if (errno || *dash != '-' || tgid > UINT32_MAX || dash >= f->name + stem)
		return;
	f->process.tgid = (uint32_t)tgid;
	f->comm = strndup(dash + 1, (size_t)(f->name + stem - (dash + 1)));
	f->process.comm = f->comm;
}

static void free_file(struct profile_file *f)
{
	free(f->path);
	free(f->shown);
	free(f->comm);
	named_service_free(f->service);
}

/* Reads FILE.json, if it exists. 0 or -ENOMEM. */
static int read_beside(struct profile_set *set, int dirfd, struct profile_file *f)
{
	struct session_json *session = session_json_read_beside(dirfd, f->name, f->shown);

	if (!session) {
		set->failed |= errno != ENOENT;
		return 0;
	}
	if (array_add(set->beside, set->beside_cnt, set->beside_cap, session)) {
		session_json_free(session);
		return -ENOMEM;
	}
	f->session = session;
	f->beside = true;
	return 0;
}

/* Adds a file and takes ownership of path, also if it fails. dirfd: the directory of path. */
static int add_file(struct profile_set *set, char *path, int dirfd,
		    const struct session_json *session)
{
	struct profile_file f = { .path = path, .session = session };
	const char *slash;
	int err;

	if (!path)
		return -ENOMEM;
	slash = strrchr(path, '/');
	f.name = slash ? slash + 1 : path;
	f.shown = escaped_path(path);
	err = f.shown ? read_beside(set, dirfd, &f) : -ENOMEM;
	if (!err && f.session)
		session_json_process(f.session, f.name, &f.process);
	if (!err && !f.process.comm)
		identity_from_name(&f);
	if (!err)
		err = profile_file_set_service(&f, &f.process.service);
	if (!err)
		err = array_add(set->files, set->file_cnt, set->file_cap, f);
	if (err)
		free_file(&f);
	return err;
}

static int is_profile(const struct dirent *d)
{
	return *d->d_name != '.' && (stem_of(d->d_name) || profile_name_is_typed(d->d_name));
}

/* CPU time comes first: the first file's sample type is the one that counts. */
static int in_order(const struct dirent **a, const struct dirent **b)
{
	static const char cpu[] = "-cpu-";
	int diff = !strstr((*a)->d_name, cpu) - !strstr((*b)->d_name, cpu);

	return diff ? diff : versionsort(a, b);
}

/* Adds the files of a directory by process id, or by service and time. */
static int add_entries(struct profile_set *set, int dirfd, const struct profile_dir *dir)
{
	struct dirent **entries;
	struct stat st;
	int cnt, i, err = 0;

	cnt = scandirat(dirfd, ".", &entries, is_profile, in_order);
	if (cnt < 0)
		return -errno;
	for (i = 0; i < cnt; i++) {
		/* Only a regular file is a profile; opening a pipe would block us. */
		if (!err && !fstatat(dirfd, entries[i]->d_name, &st, 0) && S_ISREG(st.st_mode)) {
			char *path;

			if (asprintf(&path, "%s/%s", dir->path, entries[i]->d_name) < 0)
				path = NULL;
			err = add_file(set, path, dirfd, dir->session);
		}
		free(entries[i]);
	}
	free(entries);
	return err;
}

/* Returns the session.json of a directory, if there is a usable one. */
static struct session_json *read_session(struct profile_set *set, int dirfd, const char *path)
{
	struct session_json *session;
	char *name, *shown = NULL;

	if (asprintf(&name, "%s/" SESSION_FILE_NAME, path) < 0)
		name = NULL;
	if (name)
		shown = escaped_path(name);
	session = session_json_read(dirfd, shown ? shown : SESSION_FILE_NAME);
	if (!session && errno != ENOENT)
		set->failed = true;
	free(name);
	free(shown);
	return session;
}

static int add_dir(struct profile_set *set, int dirfd, const char *path, const char *shown)
{
	size_t before = set->file_cnt;
	struct profile_dir *dir;
	int err;

	if (array_add(set->dirs, set->dir_cnt, set->dir_cap, (struct profile_dir){ 0 }))
		return -ENOMEM;
	dir = &set->dirs[set->dir_cnt - 1];
	dir->session = read_session(set, dirfd, path);
	dir->path = strdup(path);
	if (!dir->path)
		return -ENOMEM;
	err = add_entries(set, dirfd, dir);
	if (!err && set->file_cnt == before) {
		log_error("no .tach, .mlyze, .pb.gz or .otlp file in directory '%s': expected the "
			  "directory of a recording, or of the agent's files", shown);
		set->failed = true;
	}
	set->many = true;
	return err;
}

/* Adds a file that is named by itself. */
static int add_single(struct profile_set *set, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	int dirfd = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1, err;

	err = dir ? add_file(set, strdup(path), dirfd, NULL) : -ENOMEM;
	if (dirfd >= 0)
		close(dirfd);
	free(dir);
	return err;
}

static int add_path(struct profile_set *set, const char *path)
{
	char *shown = escaped_path(path);
	struct stat st;
	int fd, err = 0;

	if (!shown)
		return -ENOMEM;
	/* Only a directory is opened here: opening a device can have side effects. */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOTDIR)
		fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		log_error("cannot open '%s': %s", shown, strerror(errno));
		set->failed = true;
	} else if (S_ISDIR(st.st_mode)) {
		err = add_dir(set, fd, path, shown);
	} else if (S_ISREG(st.st_mode)) {
		err = add_single(set, path);
	} else {
		log_error("'%s' is neither a file nor a directory: expected a .tach file", shown);
		set->failed = true;
	}
	if (fd >= 0)
		close(fd);
	free(shown);
	return err;
}

/* Returns true if they are the same except for the last `less` bytes of path. */
static bool is_begin(const char *path, size_t less, const char *other)
{
	size_t len = strlen(path) - less;

	return strlen(other) == len && !memcmp(path, other, len);
}

/* Returns true for session.json, FILE.json and the like of another path, as patterns match them. */
static bool is_beside(const char *path, char *const *paths, size_t cnt)
{
	size_t len = strlen(path), tail = strlen(SESSION_BESIDE_SUFFIX), dir, i;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	bool of_dir = !strcmp(name, SESSION_FILE_NAME) || !strcmp(name, SOURCES_FILE_NAME);

	if (len <= tail || strcmp(path + len - tail, SESSION_BESIDE_SUFFIX))
		return false;
	if (ends_with(path, SOURCES_BESIDE_SUFFIX))
		tail = strlen(SOURCES_BESIDE_SUFFIX);
	else if (ends_with(path, REGIONS_BESIDE_SUFFIX))
		tail = strlen(REGIONS_BESIDE_SUFFIX);
	dir = slash ? (size_t)(slash + 1 - path) : 0;
	for (i = 0; i < cnt; i++) {
		if (is_begin(path, tail, paths[i]))
			return true;
		if (of_dir && !strncmp(path, paths[i], dir) && !strchr(paths[i] + dir, '/') &&
		    stem_of(paths[i] + dir))
			return true;
	}
	return false;
}

int profile_set_open(struct profile_set *set, char *const *paths, size_t cnt,
		     const struct reader_args *args)
{
	size_t used = 0, i;
	int err = 0;

	memset(set, 0, sizeof(*set));
	if (args)
		set->reader_args = *args;
	for (i = 0; !err && i < cnt; i++) {
		if (is_beside(paths[i], paths, cnt))
			continue;
		set->many |= used++ > 0;
		err = add_path(set, paths[i]);
	}
	if (!err)
		err = profile_types_choose(set);
	if (err)
		log_error("cannot look for profiles: %s", strerror(-err));
	else if (!set->file_cnt)
		err = -ENOENT;	/* already reported */
	return err;
}

static int by_container(const void *a, const void *b)
{
	const struct profile_file *x = a, *y = b;
	int diff = strcmp(x->process.container ? x->process.container : "",
			  y->process.container ? y->process.container : "");

	return diff ? diff : strverscmp(x->path, y->path);
}

void profile_set_order(struct profile_set *set)
{
	qsort(set->files, set->file_cnt, sizeof(*set->files), by_container);
}

static void free_inner(struct profile_set *set)
{
	size_t i;

	for (i = 0; i < set->inner_cnt; i++) {
		free(set->inner[i]->comm);
		free(set->inner[i]->container);
		named_service_free(set->inner[i]->service);
		thread_names_drop(set->inner[i]->names);
		free(set->inner[i]);
	}
	free(set->inner);
}

void profile_set_part(const struct profile_set *set, size_t first, size_t cnt,
		      struct profile_set *part)
{
	*part = (struct profile_set){
		.files = set->files + first, .file_cnt = cnt, .reader_args = set->reader_args,
		.many = set->many, .quiet = set->quiet, .filter = set->filter, .part = true,
	};
}

/* The entries of a part become the set's: there are pointers to them. */
static int take_inner(struct profile_set *set, struct profile_set *part)
{
	int err = 0;

	for (; !err && part->inner_cnt; part->inner_cnt -= !err)
		err = array_add(set->inner, set->inner_cnt, set->inner_cap,
				part->inner[part->inner_cnt - 1]);
	return err;
}

int profile_set_join_part(struct profile_set *set, struct profile_set *part)
{
	int err = take_inner(set, part);

	set->failed |= part->failed;
	set->many |= part->many;
	set->skipped += part->skipped;
	set->visited += part->visited;
	set->other_types += part->other_types;
	profile_set_free_part(part);
	return err;
}

void profile_set_free_part(struct profile_set *part)
{
	free_inner(part);
	service_map_free(&part->services);
	sample_filter_free(part->running);
	memset(part, 0, sizeof(*part));
}

void profile_set_free(struct profile_set *set)
{
	size_t i;

	for (i = 0; i < set->file_cnt; i++)
		free_file(&set->files[i]);
	for (i = 0; i < set->dir_cnt; i++) {
		free(set->dirs[i].path);
		session_json_free(set->dirs[i].session);
	}
	for (i = 0; i < set->beside_cnt; i++)
		session_json_free(set->beside[i]);
	free(set->beside);
	free_inner(set);
	service_map_free(&set->services);
	sample_filter_free(set->running);
	free(set->files);
	free(set->dirs);
	free(set->type);
	memset(set, 0, sizeof(*set));
}

/* why may have bytes of the file. */
static void report_damage(struct profile_set *set, const struct profile_file *f, const char *why)
{
	char shown[WHY_BYTES * 2];

	log_error("'%s': %s", f->shown, escape_text(why, strlen(why), shown, sizeof(shown)));
	set->failed = true;
}

struct profile_file *profile_set_inner(struct profile_set *set, const struct profile_file *file,
				       uint32_t tgid, const char *comm, const char *container)
{
	struct profile_file *inner = malloc(sizeof(*inner));

	if (!inner || array_add(set->inner, set->inner_cnt, set->inner_cap, inner)) {
		free(inner);
		return NULL;
	}
	*inner = *file;
	inner->names = NULL;
	inner->service = NULL;
	inner->process = (struct session_process){ .tgid = tgid };
	inner->comm = comm ? strdup(comm) : NULL;
	inner->process.comm = inner->comm;
	inner->container = container ? strdup(container) : NULL;
	inner->process.container = inner->container;
	if (container)
		inner->process.image = file->process.image;
	if ((comm && !inner->comm) || (container && !inner->container))
		return NULL;
	if (profile_file_set_service(inner, profile_set_service_of(set, file, tgid)))
		return NULL;
	return inner;
}

/* Returns true if the entry has everything that the file itself says about its process. */
static bool says_all(const struct session_process *p, const struct profile_meta *meta)
{
	return p->tgid == meta->tgid && (p->comm || !meta->comm) &&
	       (p->container || !meta->container) && (p->thread_names || !meta->thread_names) &&
	       (p->service.part[SERVICE_NAME] || !meta->service);
}

/*
 * Returns the entry of the selected profile: a process named in the file takes precedence over the
 * one in the file's name. NULL: no memory.
 */
static const struct profile_file *inner_file(struct profile_set *set, struct profile_file *file,
					     const struct profile_meta *meta)
{
	struct profile_file *inner;

	if ((!meta->tgid && !meta->comm && !meta->service) ||
	    (meta->tgid && says_all(&file->process, meta)))
		return file;
	inner = profile_set_inner(set, file, meta->tgid, meta->comm, meta->container);
	if (!inner)
		return NULL;
	if (meta->tgid == file->process.tgid)
		inner->process.command = file->process.command;
	inner->names = thread_names_keep(meta->thread_names);
	inner->process.thread_names = inner->names;
	if (inner->service)
		return inner;
	if (profile_file_set_service(inner, meta->service ? meta->service :
							    &file->process.service))
		return NULL;
	return inner;
}

/* The state of profile_set_each(). */
struct walk {
	struct profile_set *set;
	int (*visit)(void *ctx, const struct profile_file *file, struct reader *r);
	void *ctx;
};

static bool is_wanted(const struct profile_set *set, const struct profile_file *f)
{
	return !set->filter ||
	       (sample_filter_wants_process(set->filter, f->process.tgid, f->process.comm) &&
		sample_filter_wants_service(set->filter, f->service));
}

/*
 * Returns true if the filter accepts the file's process. If the process is unknown, the process
 * frames in the file decide: they are the same for all of its profiles. *frames: their result, 0 or
 * 1; -1: not known yet.
 */
static bool wanted_inside(struct profile_set *set, const struct profile_file *file,
			  const struct reader *r, int *frames)
{
	if (is_wanted(set, file))
		return true;
	if (file->process.tgid)
		return false;
	if (*frames < 0)
		*frames = sample_filter_wants_tables(set->filter, reader_tables(r),
						     profile_set_services(set, file));
	return *frames;
}

static int visit_profiles(struct walk *w, struct profile_file *file, struct reader *r)
{
	struct profile_set *set = w->set;
	int err = 0, frames = -1;
	uint32_t i;

	/* Only an open file shows that it has several profiles. */
	if (reader_profile_cnt(r) > 1)
		set->many = true;
	for (i = 0; !err && i < reader_profile_cnt(r); i++) {
		const struct profile_file *inner;

		reader_select(r, i);
		inner = inner_file(set, file, &reader_info(r)->meta);
		if (!inner)
			return -ENOMEM;
		if (!wanted_inside(set, inner, r, &frames)) {
			set->skipped++;
			continue;
		}
		set->visited++;
		if (set->filter && sample_filter_has_time(set->filter) && !reader_info(r)->timed)
			report_damage(set, file, "it has no timestamps: leave out --from and --to");
		else
			err = w->visit(w->ctx, inner, r);
	}
	return err;
}

int profile_set_each(struct profile_set *set,
		     int (*visit)(void *ctx, const struct profile_file *file, struct reader *r),
		     void *ctx)
{
	struct walk w = { .set = set, .visit = visit, .ctx = ctx };
	size_t i;
	int err = 0;

	set->skipped = set->visited = set->other_types = 0;
	for (i = 0; !err && i < set->file_cnt; i++) {
		const struct profile_file *file = &set->files[i];
		char why[WHY_BYTES] = "";
		struct reader *r;

		/* If the process is unknown, it may be named in the file. */
		if (file->process.tgid && !is_wanted(set, file)) {
			set->skipped++;
			continue;
		}
		r = reader_open(set->files[i].path, &set->reader_args, why, sizeof(why));
		if (!r && errno == ENODATA && set->file_cnt > 1) {
			set->other_types++;
			continue;
		}
		if (!r) {
			report_damage(set, &set->files[i], *why ? why : strerror(errno));
			set->visited++;
			continue;
		}
		err = visit_profiles(&w, &set->files[i], r);
		reader_free(r);
	}
	if (!err && !set->part)
		profile_set_end(set);
	return err;
}

void profile_set_end(struct profile_set *set)
{
	profile_types_report(set);
	if (!set->skipped || set->visited)
		return;
	if (set->filter->service_cnt)
		log_error("no file contains a process that matches --service%s: see tachbpf report "
			  "--by service", set->filter->process_cnt ? " and --process" : "");
	else
		log_error("no file contains a process that matches --process: see tachbpf info for "
			  "process IDs and names");
	set->failed = true;
}

int profile_set_run(struct profile_set *set, const struct profile_file *file,
		    struct reader *r, int (*on_event)(void *ctx, const struct event *ev),
		    void *ctx)
{
	char why[WHY_BYTES] = "";
	int err;

	if (set->filter && !sample_filter_is_empty(set->filter)) {
		if (!set->running)
			set->running = sample_filter_new();
		if (!set->running)
			return -ENOMEM;
		sample_filter_begin(set->running, set->filter, &reader_info(r)->meta,
				    reader_tables(r), on_event, ctx);
		if (!is_wanted(set, file))
			sample_filter_by_process_frames(set->running,
							profile_set_services(set, file));
		on_event = sample_filter_event;
		ctx = set->running;
		reader_take(r, 0);
	}
	err = reader_run(r, on_event, ctx, why, sizeof(why));
	/* An error with a reason is the reader's, one without is on_event()'s. */
	if (!err || !*why)
		return err;
	if (!set->quiet)
		report_damage(set, file, why);
	return err == -EBADMSG ? 0 : err;
}
