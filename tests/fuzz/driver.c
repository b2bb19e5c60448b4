// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * driver.c - main() for the fuzz targets where there is no libFuzzer: feeds a target
 * each seed file as it is, then -runs=N mutations of them, the same ones every time.
 *
 *     targets fuzz_NAME [-runs=N] [-seed=N] FILE...
 *
 * The Makefile renames each target's LLVMFuzzerTestOneInput() to fuzz_NAME and lists it in TARGETS.
 * The input that kills the target is left in a file whose name is printed first.
 * With clang: -fsanitize=fuzzer,address and without this file.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_MAX_BYTES (1 << 20)
#define SEED_MAX_CNT 256

#define DECLARE(name) int name(const uint8_t *data, size_t size);
#define ROW(name) { #name, name },

TARGETS(DECLARE)

struct target {
	const char *name;
	int (*test)(const uint8_t *data, size_t size);
};

struct input {
	uint8_t *data;
	size_t len;
};

static struct input seeds[SEED_MAX_CNT];
static size_t seed_cnt;
static uint64_t state = 88172645463325252ULL;

static uint64_t rnd(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dULL % below;
}

static int load(const char *path)
{
	struct input *in = &seeds[seed_cnt];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > INPUT_MAX_BYTES)
		goto bad;
	in->len = (size_t)st.st_size;
	in->data = malloc(in->len + 1);
	if (!in->data || read(fd, in->data, in->len) != st.st_size)
		goto bad;
	close(fd);
	seed_cnt++;
	return 0;
bad:
	perror(path);
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Overwrite some bytes with a number that tends to hurt. */
static void hurt(uint8_t *data, size_t len)
{
	static const uint64_t numbers[] = { 0, 1, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff,
					    0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32,
					    INT64_MAX, 1ULL << 63, UINT64_MAX };
	uint64_t v = numbers[rnd(sizeof(numbers) / sizeof(numbers[0]))];
	size_t bytes = 1u << rnd(4), at;

	if (len < bytes)
		return;
	/* Half of the time in what is likely a header or a trailer. */
	at = len > 256 && rnd(2) ? (rnd(2) ? rnd(96) : len - 96 + rnd(88)) : rnd(len - bytes + 1);
	memcpy(data + at, &v, bytes);
}

static size_t mutate(uint8_t *data, size_t len)
{
	const struct input *other = &seeds[rnd(seed_cnt)];
	size_t at, from, n;

	if (!len)
		return 0;
	at = rnd(len);
	n = 1 + rnd(rnd(8) ? 16 : 4096);
	switch (rnd(6)) {
	case 0:
		data[at] ^= (uint8_t)(1u << rnd(8));
		return len;
	case 1:
		data[at] = (uint8_t)rnd(256);
		return len;
	case 2:
		hurt(data, len);
		return len;
	case 3:		/* cut out */
		n = n < len - at ? n : len - at;
		memmove(data + at, data + at + n, len - at - n);
		return len - n;
	case 4:		/* a piece of some seed put in */
		from = other->len ? rnd(other->len) : 0;
		n = n < other->len - from ? n : other->len - from;
		if (len + n > INPUT_MAX_BYTES)
			return len;
		memmove(data + at + n, data + at, len - at);
		memcpy(data + at, other->data + from, n);
		return len + n;
	default:	/* a piece of some seed put over */
		from = other->len ? rnd(other->len) : 0;
		n = n < other->len - from ? n : other->len - from;
		n = n < len - at ? n : len - at;
		memcpy(data + at, other->data + from, n);
		return len;
	}
}

/* The input being run, in a file that outlives a crash. */
static uint8_t *shared_input(char *path, size_t path_size)
{
	const char *dir = getenv("TMPDIR");
	uint8_t *p;
	int fd;

	snprintf(path, path_size, "%s/crash-input.XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, INPUT_MAX_BYTES + 8) < 0)
		return NULL;
	p = mmap(NULL, INPUT_MAX_BYTES + 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return NULL;
	fprintf(stderr, "input: %s (after 8 bytes of length)\n", path);
	return p;
}

/* An exact copy, so that AddressSanitizer sees reads behind the end. */
static void run(const struct target *target, uint8_t *file, const uint8_t *data, size_t len)
{
	uint64_t said = len;
	uint8_t *copy = malloc(len);

	memcpy(file, &said, sizeof(said));
	if (len) {
		memmove(file + 8, data, len);
		memcpy(copy, data, len);
	}
	target->test(copy, len);
	free(copy);
}

static const struct target *find_target(const char *name)
{
	static const struct target targets[] = { TARGETS(ROW) };
	size_t i;

	for (i = 0; name && i < sizeof(targets) / sizeof(targets[0]); i++)
		if (!strcmp(targets[i].name, name))
			return &targets[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct target *target = find_target(argv[1]);
	static uint8_t data[INPUT_MAX_BYTES];
	unsigned long runs = 0, i;
	char path[4096];
	uint8_t *file;
	size_t len;
	int n;

	for (n = 2; n < argc; n++) {
		if (!strncmp(argv[n], "-runs=", 6))
			runs = strtoul(argv[n] + 6, NULL, 0);
		else if (!strncmp(argv[n], "-seed=", 6))
			state = strtoull(argv[n] + 6, NULL, 0) * 2 + 1;
		else if (seed_cnt < SEED_MAX_CNT && load(argv[n]))
			return 2;
	}
	file = seed_cnt ? shared_input(path, sizeof(path)) : NULL;
	if (!target || !file) {
		fprintf(stderr, "usage: %s fuzz_NAME [-runs=N] [-seed=N] FILE...\n", argv[0]);
		return 2;
	}
	for (i = 0; i < seed_cnt; i++)
		run(target, file, seeds[i].data, seeds[i].len);
	for (i = 0; i < runs; i++) {
		const struct input *in = &seeds[rnd(seed_cnt)];

		memcpy(data, in->data, in->len);
		len = in->len;
		for (n = 1 + (int)rnd(4); n; n--)
			len = mutate(data, len);
		run(target, file, data, len);
	}
	unlink(path);
	fprintf(stderr, "%s: %zu seeds, %lu mutations: no crash\n", target->name, seed_cnt, runs);
	return 0;
}
