// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * elf_debug.c - see elf_debug.h. GDB manual, "Debugging Information in Separate Files" and
 * "MiniDebugInfo".
 */
#include "elf_helper/elf_debug.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"

#define PACKED_MAX (32u << 20)
#define MINI_MAX (64u << 20)
#define UNPACK_MEMORY (80u << 20)	/* of liblzma; xz -9 needs 65 MiB */
#define CHUNK 65536
#define CHECKED_MAX (4ull << 30)	/* a larger file is not checked, but refused */

static bool open_section(struct elf_file *f, int fd, const char *name, struct elf_range *r)
{
	return !elf_file_open(f, fd) && !elf_file_section(f, name, r) && r->size;
}

bool elf_debug_has(int fd, const char *section)
{
	struct elf_range r;
	struct elf_file f;

	return open_section(&f, fd, section, &r);
}

uint64_t elf_debug_bytes(int fd)
{
	static const char *const names[] = { ".debug_info", ".debug_abbrev", ".debug_line",
					     ".debug_str", ".debug_line_str", ".debug_ranges",
					     ".debug_rnglists", ".debug_addr" };
	uint64_t sum = 0;
	struct elf_range r;
	struct elf_file f;
	size_t i;

	if (elf_file_open(&f, fd))
		return 0;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!elf_file_section(&f, names[i], &r))
			sum += r.size < f.size ? r.size : f.size;
	return sum;
}

/* ---- separate files ---- */

/* Reads the name and what follows it at a multiple of 4. Returns the bytes that follow, or -1. */
static int read_link(int fd, const char *section, struct elf_want_debug *want, uint8_t *rest,
		     size_t size, size_t align)
{
	uint8_t bytes[sizeof(want->name) + 32];
	struct elf_range r;
	struct elf_file f;
	size_t len, at;

	if (!open_section(&f, fd, section, &r) || r.size > sizeof(bytes) ||
	    elf_file_pread(&f, r.off, bytes, r.size))
		return -1;
	len = strnlen((const char *)bytes, r.size);
	if (len == r.size)
		return -1;
	at = (len + 1 + align - 1) / align * align;
	if (at > r.size || r.size - at > size)
		return -1;
	memcpy(rest, bytes + at, r.size - at);
	/* The opener chooses the directory. */
	while (memchr(bytes, '/', len)) {
		size_t skip = (size_t)((uint8_t *)memchr(bytes, '/', len) - bytes) + 1;

		memmove(bytes, bytes + skip, len - skip + 1);
		len -= skip;
	}
	if (len >= sizeof(want->name))
		return -1;
	memcpy(want->name, bytes, len);
	return (int)(r.size - at);
}

static int read_id(int fd, uint8_t id[20], uint32_t *bytes)
{
	struct elf_segments s;
	struct elf_file f;
	int err = elf_file_open(&f, fd);

	if (!err)
		err = elf_segments_read(&f, &s);
	if (err)
		return err;
	memcpy(id, s.build_id, sizeof(s.build_id));
	*bytes = s.build_id_bytes;
	return 0;
}

/* .gnu_debuglink has zlib's checksum, which liblzma provides, too. */
static bool has_crc(int fd, uint32_t crc)
{
	static uint8_t chunk[CHUNK];
	uint64_t off = 0;
	uint32_t sum = 0;
	ssize_t n;

	while ((n = pread(fd, chunk, sizeof(chunk), (off_t)off)) > 0 && off < CHECKED_MAX) {
		sum = lzma_crc32(chunk, (size_t)n, sum);
		off += (uint64_t)n;
	}
	return !n && sum == crc;
}

static bool is_right(int fd, const struct elf_want_debug *want)
{
	uint32_t bytes = 0;
	uint8_t id[20];

	if (read_id(fd, id, &bytes))
		return false;
	if (want->id_bytes)
		return bytes == want->id_bytes && !memcmp(id, want->id, bytes);
	return has_crc(fd, want->crc);
}

static int ask_checked(const struct elf_want_debug *want, elf_debug_ask ask, void *ctx)
{
	int fd = ask(ctx, want);

	if (fd < 0 || is_right(fd, want))
		return fd;
	close(fd);
	return -ENOENT;
}

int elf_debug_file(int fd, elf_debug_ask ask, void *ctx)
{
	struct elf_want_debug want = { .id_bytes = 0 };
	uint8_t crc[4];

	if (read_id(fd, want.id, &want.id_bytes))
		return -ENOENT;
	if (read_link(fd, ".gnu_debuglink", &want, crc, sizeof(crc), 4) == sizeof(crc))
		memcpy(&want.crc, crc, sizeof(crc));
	else
		want.name[0] = '\0';
	if (!want.id_bytes && !want.name[0])
		return -ENOENT;
	return ask_checked(&want, ask, ctx);
}

int elf_debug_alt(int fd, elf_debug_ask ask, void *ctx)
{
	struct elf_want_debug want = { .id_bytes = 0 };
	int len = read_link(fd, ".gnu_debugaltlink", &want, want.id, sizeof(want.id), 1);

	if (len <= 0)
		return -ENOENT;
	want.id_bytes = (uint32_t)len;
	return ask_checked(&want, ask, ctx);
}

/* ---- mini debuginfo ---- */

/* Unpacks one .xz stream of len bytes to the descriptor. Returns 0 or -errno. */
static int unpack_xz(const uint8_t *packed, size_t len, int to)
{
	static uint8_t chunk[CHUNK];
	lzma_stream z = LZMA_STREAM_INIT;
	lzma_ret ret = lzma_stream_decoder(&z, UNPACK_MEMORY, 0);
	uint64_t done = 0;
	int err = ret == LZMA_OK ? 0 : -ENOMEM;

	z.next_in = packed;
	z.avail_in = len;
	while (!err && ret == LZMA_OK) {
		z.next_out = chunk;
		z.avail_out = sizeof(chunk);
		ret = lzma_code(&z, LZMA_FINISH);
		if (ret != LZMA_OK && ret != LZMA_STREAM_END)
			err = -EBADMSG;
		else if (done + sizeof(chunk) - z.avail_out > MINI_MAX)
			err = -EFBIG;
		else
			err = pwrite_all(to, chunk, sizeof(chunk) - z.avail_out, done);
		done += sizeof(chunk) - z.avail_out;
	}
	lzma_end(&z);
	return err;
}

int elf_debug_mini(int fd)
{
	struct elf_range r;
	struct elf_file f;
	uint8_t *packed;
	int to, err;

	if (!open_section(&f, fd, ".gnu_debugdata", &r) || r.size > PACKED_MAX)
		return -ENOENT;
	packed = malloc(r.size);
	to = packed ? memfd_create("debugdata", MFD_CLOEXEC) : -1;
	err = to < 0 ? -ENOMEM : elf_file_pread(&f, r.off, packed, r.size);
	if (!err)
		err = unpack_xz(packed, r.size, to);
	free(packed);
	if (!err)
		return to;
	if (to >= 0)
		close(to);
	return err;
}
