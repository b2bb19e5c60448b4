// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* spool_draft.c - see spool_draft.h. */
#include "delivery/spool_draft.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define METER_NAME "open"
#define TEMP_NAME "draft.tmp"
#define SUFFIX ".draft"
#define DIGITS 16
#define NAME_BYTES (DIGITS + sizeof(SUFFIX))

struct spool_meter {
	uint64_t open, drafted;		/* samples now; of them in the draft */
};

static void name_of(char out[NAME_BYTES], uint64_t number)
{
	snprintf(out, NAME_BYTES, "%016llx" SUFFIX, (unsigned long long)number);
}

static bool number_of(const char *name, uint64_t *number)
{
	if (strlen(name) != NAME_BYTES - 1 || strcmp(name + DIGITS, SUFFIX) ||
	    strspn(name, "0123456789abcdef") != DIGITS)
		return false;
	*number = strtoull(name, NULL, 16);
	return *number && *number < UINT64_MAX / 2;
}

static void remove_number(const struct spool_draft *d, uint64_t number)
{
	char name[NAME_BYTES];

	if (!number)
		return;
	name_of(name, number);
	unlinkat(d->dir, name, 0);
}

static void find_left(struct spool_draft *d)
{
	int fd = openat(d->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	uint64_t number;

	if (!listing && fd >= 0)
		close(fd);
	while (listing && (e = readdir(listing))) {
		if (!number_of(e->d_name, &number))
			continue;
		remove_number(d, number < d->left ? number : d->left);
		d->left = number > d->left ? number : d->left;
	}
	if (listing)
		closedir(listing);
	d->last = d->left;
}

/* Without it, what a kill costs is not counted. */
static void open_meter(struct spool_draft *d)
{
	int fd = openat(d->dir, METER_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct spool_meter *m = MAP_FAILED;

	if (fd < 0)
		return;
	/* A full disk must not kill us when the page is written: it is allocated now. */
	if (!posix_fallocate(fd, 0, sizeof(*m)))
		m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (m == MAP_FAILED)
		return;
	d->killed_samples = m->open > m->drafted ? m->open - m->drafted : 0;
	*m = (struct spool_meter){ 0 };
	d->meter = m;
}

void spool_draft_open(struct spool_draft *d, int dir)
{
	*d = (struct spool_draft){ .dir = dir };
	unlinkat(dir, TEMP_NAME, 0);
	find_left(d);
	open_meter(d);
}

void spool_draft_close(struct spool_draft *d)
{
	if (d->meter)
		munmap(d->meter, sizeof(*d->meter));
	*d = (struct spool_draft){ 0 };
}

int spool_draft_left(struct spool_draft *d, struct buf *out)
{
	char name[NAME_BYTES];
	int fd, err;

	if (!d->left)
		return 0;
	name_of(name, d->left);
	fd = openat(d->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	err = fd < 0 ? -errno : buf_add_file(out, fd, SPOOL_DRAFT_BYTES_MAX);
	if (fd >= 0)
		close(fd);
	d->number = d->left;
	d->left = 0;
	return err;
}

/* Returns 0 or -errno. */
static int write_number(struct spool_draft *d, uint64_t number, const void *data, size_t len)
{
	char name[NAME_BYTES];
	int fd = openat(d->dir, TEMP_NAME,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600), err;

	if (fd < 0)
		return -errno;
	err = write_all(fd, data, len);
	if (close(fd) && !err)
		err = -errno;
	name_of(name, number);
	if (!err && renameat(d->dir, TEMP_NAME, d->dir, name))
		err = -errno;
	if (err)
		unlinkat(d->dir, TEMP_NAME, 0);
	return err;
}

int spool_draft_write(struct spool_draft *d, const void *data, size_t len, uint64_t samples)
{
	uint64_t number = len ? d->last + 1 : 0;
	int err = len ? write_number(d, number, data, len) : 0;

	if (err)
		return err;
	remove_number(d, d->number);
	d->number = number;
	d->last = number ? number : d->last;
	if (d->meter)
		*d->meter = (struct spool_meter){ samples, samples };
	return 0;
}

void spool_draft_meter(struct spool_draft *d, uint64_t samples)
{
	if (d->meter)
		d->meter->open = samples;
}
