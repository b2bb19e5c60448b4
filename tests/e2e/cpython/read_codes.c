/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * read_codes.c - prints what code.h makes of code objects of a live process.
 *
 * read_codes PID IMAGE < "address length" lines. One line each: first line, qualified
 * name and file in hex, the positions and the opcodes of all instructions.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

#include "cpython/code.h"

static int vm_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { buf, len }, remote = { (void *)addr, len };
	ssize_t n = process_vm_readv(*(pid_t *)ctx, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void print_hex(const char *s, uint32_t len)
{
	for (; len--; s++)
		printf("%02x", (uint8_t)*s);
	putchar(' ');
}

static void print_code(const struct target_mem *mem, const struct cpython_image *img,
		       const struct code_object *code, unsigned int len)
{
	struct code_position p;
	unsigned int at;

	printf("%d ", code->firstlineno);
	print_hex(code->name, code->name_len);
	print_hex(code->file, code->file_len);
	for (at = 0; at < len; at += 2) {
		code_position(code, at, &p);
		printf("%d,%d,%d,%d,%u ", p.line, p.end_line, p.column, p.end_column,
		       code_opcode(mem, &img->layout, img->minor, code->addr, at));
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct cpython_image img;
	pid_t pid = argc == 3 ? atoi(argv[1]) : 0;
	struct target_mem mem = { vm_read, &pid };
	uint64_t ns = 0, started;
	unsigned int len, cnt = 0;
	unsigned long addr;
	char why[200];
	int fd, err;

	fd = pid ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0 || cpython_image_read(fd, &img, why, sizeof(why)))
		return 1;
	while (scanf("%lu %u", &addr, &len) == 2) {
		struct code_object code;

		started = monotonic_ns();
		err = code_read(&mem, &img.layout, &img.objects, addr, &code);
		ns += monotonic_ns() - started;
		cnt++;
		if (err) {
			printf("error %d\n", err);
			continue;
		}
		print_code(&mem, &img, &code, len);
		code_free(&code);
	}
	fprintf(stderr, "%u code objects, %.2f us each\n", cnt, cnt ? ns / 1e3 / cnt : 0.0);
	return 0;
}
