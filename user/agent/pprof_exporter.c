// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* pprof_exporter.c - see pprof_exporter.h. */
#include "agent/pprof_exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/dated_dir.h"
#include "base/output.h"
#include "base/time.h"
#include "base/util.h"
#include "telemetry/window_pprof.h"

#define SUFFIX ".pb.gz"
/* Used until the file is complete. A killed agent leaves it, and the next file replaces it. */
#define TEMP_NAME OUTPUT_TEMP_PREFIX "pprof.tmp"
#define SEQ_MAX 1000	/* services with the same name */
#define SAY_NS 600000000000ull

struct pprof_exporter {
	struct dated_dir *place;
	char *dir;
	uint32_t keep;
	uint64_t said_ns;	/* when an error was last logged; 0: never */
	uint64_t unsaid;	/* errors since then */
	struct pprof_exporter_stats stats;
};

/* A window that is being written. */
struct writing {
	struct pprof_exporter *e;
	const char *const *names;
	size_t name_cnt;
	char begin[DATED_BYTES];
	int err;		/* the first one */
};

/* ---- names ---- */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._+@%=,", c));
}

/*
 * Makes a service's name a part of a file's name: letters, digits and "-._+@%=," stay, others
 * become '_', as does a leading dot or '-'; cut to 100 bytes; "_" if it is empty.
 */
static void pprof_exporter_service(const char *name, char out[PPROF_SERVICE_BYTES])
{
	size_t i;

	for (i = 0; name[i] && i < PPROF_SERVICE_BYTES - 1; i++)
		out[i] = is_plain(name[i]) ? name[i] : '_';
	if (!i)
		out[i++] = '_';
	out[i] = '\0';
	if (out[0] == '.' || out[0] == '-')	/* hidden, or looks like an option */
		out[0] = '_';
}

/* Returns true if [name, end) ends with "-TYPE" after at least one other character. */
static bool ends_with_type(const char *name, size_t len)
{
	size_t i, n;

	for (i = 0; i < WINDOW_KIND_CNT; i++) {
		n = strlen(window_kinds[i].type);
		if (len > n + 1 && name[len - n - 1] == '-' &&
		    !memcmp(name + len - n, window_kinds[i].type, n))
			return true;
	}
	return false;
}

static bool time_of(const char *name, time_t *t)
{
	const size_t tail = 1 + DATED_LEN + strlen(SUFFIX);
	size_t len = strlen(name);

	return len > tail && name[0] != '.' && name[len - tail] == '-' &&
	       !strcmp(name + len - strlen(SUFFIX), SUFFIX) &&
	       dated_parse(name + len - tail + 1, t) && ends_with_type(name, len - tail);
}

static int remove_old(int dirfd, const char *name)
{
	return unlinkat(dirfd, name, 0) && errno != ENOENT ? -errno : 0;
}

static const struct dated_kind kind = {
	.what = "pprof files", .type = S_IFREG, .time_of = time_of, .remove = remove_old,
};

/* Finds a free name for a profile. Returns 0 or -errno. */
static int choose_name(const struct writing *w, const struct window_pprof *p,
		       char out[OUTPUT_NAME_MAX])
{
	const char *given = p->service < w->name_cnt ? w->names[p->service] : NULL;
	char number[24], service[PPROF_SERVICE_BYTES], seq[8] = "";
	struct stat st;
	int i;

	snprintf(number, sizeof(number), "service-%u", p->service);
	pprof_exporter_service(given ? given : number, service);
	for (i = 2; i <= SEQ_MAX; i++) {
		snprintf(out, OUTPUT_NAME_MAX, "%s%s-%s-%s" SUFFIX, service, seq,
			 window_kinds[p->kind].type, w->begin);
		if (fstatat(dated_dir_fd(w->e->place), out, &st, AT_SYMLINK_NOFOLLOW))
			return errno == ENOENT ? 0 : -errno;
		snprintf(seq, sizeof(seq), "~%d", i);
	}
	return -EEXIST;
}

/* ---- writing ---- */

/* Writes the whole file or none. Returns 0 or -errno. */
static int write_file(int dirfd, const char *name, const struct window_pprof *p)
{
	int fd, err;

	unlinkat(dirfd, TEMP_NAME, 0);
	fd = openat(dirfd, TEMP_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = pwrite_all(fd, p->bytes, p->len, 0);
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(dirfd, TEMP_NAME, dirfd, name))
		err = -errno;
	if (err)
		unlinkat(dirfd, TEMP_NAME, 0);
	return err;
}

static void warn_of_error(struct pprof_exporter *e, int err)
{
	uint64_t now = now_ns();

	e->stats.errors++;
	e->unsaid++;
	if (e->said_ns && now - e->said_ns < SAY_NS)
		return;
	log_warn("cannot write pprof files to '%s': %s; %llu lost so far", e->dir,
		 strerror(-err), (unsigned long long)e->unsaid);
	e->said_ns = now;
	e->unsaid = 0;
}

/* A file that cannot be written does not prevent the others. */
static int take_profile(void *ctx, const struct window_pprof *p)
{
	struct writing *w = ctx;
	struct pprof_exporter *e = w->e;
	char name[OUTPUT_NAME_MAX];
	int err = choose_name(w, p, name);

	if (!err)
		err = write_file(dated_dir_fd(e->place), name, p);
	if (err) {
		warn_of_error(e, err);
		w->err = w->err ? w->err : err;
		return 0;
	}
	e->stats.files++;
	e->stats.bytes += p->len;
	dated_dir_added(e->place);
	return 0;
}

int pprof_exporter_window(struct pprof_exporter *e, const struct window *w,
			  const char *const *names, size_t name_cnt, uint64_t period_ns,
			  const struct window_comments *comments)
{
	struct writing writing = { .e = e, .names = names, .name_cnt = name_cnt };
	const struct window_pprof_args args = {
		.period_ns = period_ns, .comments = comments, .emit = take_profile, .ctx = &writing,
	};
	int err;

	dated_text((time_t)(window_begin_ns(w) / 1000000000), writing.begin);
	err = window_pprof(w, &args);
	dated_dir_keep(e->place, e->keep, NULL, &e->stats.removed);
	if (err)
		return err;
	return writing.err ? -EIO : 0;
}

/* ---- the exporter ---- */

struct pprof_exporter *pprof_exporter_new(const struct pprof_exporter_args *args)
{
	struct pprof_exporter *e = calloc(1, sizeof(*e));
	int err = ENOMEM;

	if (!e)
		return NULL;
	e->keep = args->keep;
	e->dir = strdup(args->dir);
	e->place = e->dir ? dated_dir_open(args->dir, &kind) : NULL;
	if (e->place)
		return e;
	err = e->dir ? errno : ENOMEM;
	pprof_exporter_free(e);
	errno = err;
	return NULL;
}

void pprof_exporter_free(struct pprof_exporter *e)
{
	if (!e)
		return;
	dated_dir_close(e->place);
	free(e->dir);
	free(e);
}

void pprof_exporter_keep(struct pprof_exporter *e, uint32_t keep)
{
	e->keep = keep;
}

void pprof_exporter_stats(const struct pprof_exporter *e, struct pprof_exporter_stats *out)
{
	*out = e->stats;
}
