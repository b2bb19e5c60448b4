// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_mlyze_join.c - any bytes as what a killed recording of memory has left; what is made of them
 * is a valid file.
 *
 * Input: u32 length of NAME.names, its bytes, NAME.events.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "formats/mlyze/mlyze.h"
#include "formats/mlyze/mlyze_join.h"

#define NAME "x.mlyze"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "not so: %s\n", what);
		abort();
	}
}

static char dir[] = "/dev/shm/fuzz_mlyze_join-XXXXXX";	/* memory: two files a run */
static int dirfd_ = -1, out;

static void clean(void)
{
	unlinkat(dirfd_, NAME ".names", 0);
	unlinkat(dirfd_, NAME ".events", 0);
	rmdir(dir);
}

static void begin(void)
{
	require(mkdtemp(dir) != NULL, "a directory");
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	out = memfd_create("out", MFD_CLOEXEC);
	require(dirfd_ >= 0 && out >= 0, "descriptors");
	atexit(clean);
}

static void put(const char *name, const uint8_t *data, size_t len)
{
	int fd = openat(dirfd_, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	require(fd >= 0 && !write_all(fd, data, len), "a file");
	close(fd);
}

/* Each event of the new file can be read. */
static void check(uint64_t events)
{
	off_t size = lseek(out, 0, SEEK_END);
	uint8_t *bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, out, 0);
	struct mlyze_error error;
	struct mlyze_cursor c;
	struct mlyze_event ev;
	struct mlyze_file *f;
	int more;

	require(bytes != MAP_FAILED, "mmap");
	f = mlyze_open(bytes, (size_t)size, &error);
	require(f != NULL, error.text);
	mlyze_rewind(&c, f);
	while ((more = mlyze_next(&c, &ev, &error)) > 0)
		;
	require(!more, error.text);
	require(c.index == events, "as many events as it says");
	mlyze_free(f);
	munmap(bytes, (size_t)size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mlyze_joined joined;
	char why[256] = "";
	uint32_t len;
	int err;

	if (dirfd_ < 0)
		begin();
	if (size < 4)
		return 0;
	memcpy(&len, data, 4);
	if (len > size - 4)
		len = (uint32_t)(size - 4);
	put(NAME ".names", data + 4, len);
	put(NAME ".events", data + 4 + len, size - 4 - len);
	require(!ftruncate(out, 0), "ftruncate");
	err = mlyze_join_to(out, dirfd_, NAME, &joined, why, sizeof(why));
	require(!err || (err == -EBADMSG && why[0]), "a reason");
	if (!err)
		check(joined.events);
	return 0;
}
