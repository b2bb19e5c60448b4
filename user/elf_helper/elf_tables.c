// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elf_tables.c - see elf_tables.h. A table from the cache is copied: changing the file on disk must
 * not change a mapped table.
 */
#include "elf_helper/elf_tables.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "elf/unwind_build.h"

#define CHUNK 65536

static int copy_all(int from, int to, uint64_t bytes)
{
	static uint8_t chunk[CHUNK];
	uint64_t done = 0;
	ssize_t n;
	int err = 0;

	while (!err && done < bytes) {
		n = pread(from, chunk, sizeof(chunk), (off_t)done);
		if (n <= 0)
			return n ? -errno : -ENODATA;
		err = pwrite_all(to, chunk, (size_t)n, done);
		done += (uint64_t)n;
	}
	return err;
}

/* Makes a sealed copy of a file of at most this many bytes; returns -errno on failure. */
static int copy_sealed(int from, uint64_t *bytes)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
	struct stat st;
	int to, err;

	if (fstat(from, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)UNWIND_FILE_HEAD ||
	    st.st_size > (off_t)(UNWIND_FILE_HEAD + UNWIND_FILE_BYTES_MAX))
		return -EBADMSG;
	*bytes = (uint64_t)st.st_size;
	to = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (to < 0)
		return -errno;
	err = copy_all(from, to, *bytes);
	if (!err && fcntl(to, F_ADD_SEALS, seals))
		err = -errno;
	if (!err)
		return to;
	close(to);
	return err;
}

static bool is_table(int fd, uint64_t bytes, const uint64_t hash[2])
{
	const struct unwind_file *f = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	bool ok;

	if (f == MAP_FAILED)
		return false;
	ok = unwind_file_is_valid(f, bytes) && !memcmp(f->hash, hash, sizeof(f->hash));
	munmap((void *)f, bytes);
	return ok;
}

static int from_cache(struct elf_opener *o, uint32_t file, const uint64_t hash[2])
{
	int kept = elf_opener_ask(o, WANT_CACHE, file, hash, 2 * sizeof(*hash)), fd;
	uint64_t bytes = 0;

	if (kept < 0)
		return kept;
	fd = copy_sealed(kept, &bytes);
	close(kept);
	if (fd < 0 || is_table(fd, bytes, hash))
		return fd;
	close(fd);
	return -EBADMSG;
}

static int find_or_build(struct elf_opener *o, uint32_t file, const struct elf_file *elf,
			 struct elf_facts *facts)
{
	uint64_t hash[2] = { 0, 0 };
	int fd = -ENOENT, err = unwind_hash(elf, o->secret, hash);

	if (err)
		return err;
	if (o->has_secret)
		fd = from_cache(o, file, hash);
	if (fd >= 0) {
		facts->cached = 1;
		return fd;
	}
	if (fd == -EPIPE)
		return fd;
	fd = unwind_build(elf, hash);
	if (fd >= 0 && o->has_secret)
		elf_opener_store(o, file, hash, fd);
	return fd;
}

int elf_tables_make(struct elf_opener *o, const struct elf_held *h, struct elf_facts *facts)
{
	uint64_t begin = now_ns();
	struct elf_segments segments;
	struct elf_file elf;
	int fd, err;

	memset(facts, 0, sizeof(*facts));
	err = elf_file_open(&elf, h->fd);
	if (!err)
		err = elf_segments_read(&elf, &segments);
	if (err)
		return err == -ENOENT ? -ENOEXEC : err;
	elf_facts_fill(&elf, &segments, facts);
	fd = find_or_build(o, h->file, &elf, facts);
	facts->build_us = (uint32_t)((now_ns() - begin) / 1000);
	return fd;
}
