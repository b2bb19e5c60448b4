// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * maps.c - addresses that are strange: outside user space, without a page behind
 * them, shared with the kernel, or with somebody behind them who never answers.
 *
 * What this kernel or this user cannot have is left out, and said on stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "hostile.h"

#define PAGE 4096ul

static uint64_t none(const char *what)
{
	fprintf(stderr, "hostile: no %s: %s\n", what, strerror(errno));
	return 0;
}

static uint64_t mapped(void *at, const char *what)
{
	return at == MAP_FAILED ? none(what) : (uintptr_t)at;
}

/* The kernel's time page, mapped as VM_PFNMAP | VM_IO. */
static uint64_t vvar(void)
{
	unsigned long long start;
	uint64_t found = 0;
	char line[256];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "[vvar") && sscanf(line, "%llx", &start) == 1)
			found = found ? found : start;
	if (f)
		fclose(f);
	return found;
}

static uint64_t perf_ring(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .disabled = 1,
		.config = PERF_COUNT_SW_DUMMY,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0)
		return none("perf ring buffer");
	return mapped(mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), "perf ring");
}

static uint64_t uring(void)
{
	struct io_uring_params p = { 0 };
	int fd = syscall(SYS_io_uring_setup, 8, &p);

	if (fd < 0)
		return none("io_uring");
	return mapped(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING),
		      "io_uring ring");
}

/* Only an answer of ours can fill these pages, and it never comes. */
static bool answer_never(void *at, size_t bytes)
{
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.mode = UFFDIO_REGISTER_MODE_MISSING,
		.range = { .start = (uintptr_t)at, .len = bytes },
	};

	return fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &reg);
}

static uint64_t unanswered(void)
{
	void *at = pages(16);

	return answer_never(at, 16 * PAGE) ? (uintptr_t)at : none("userfaultfd");
}

/* Until nobody answers, nobody can read: a reader in between would leave a page of zeros. */
void silence(void *at, size_t bytes)
{
	if (mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != MAP_FAILED && answer_never(at, bytes) &&
	    !mprotect(at, bytes, PROT_READ | PROT_WRITE))
		return;
	none("userfaultfd");
	exit(3);
}

/* A file system with one file, which can be opened and mapped but never read. */
static void answer(int fd)
{
	static uint8_t in[256 * 1024];
	struct fuse_in_header *h = (void *)in;
	struct {
		struct fuse_out_header h;
		union {
			struct fuse_init_out init;
			struct fuse_entry_out entry;
			struct fuse_attr_out attr;
			struct fuse_open_out open;
		};
	} out;
	struct fuse_attr file = { .ino = 2, .size = 1 << 20, .mode = S_IFREG | 0777, .nlink = 1 };
	struct fuse_attr dir = { .ino = 1, .mode = S_IFDIR | 0777, .nlink = 2 };

	while (read(fd, in, sizeof(in)) > 0) {
		size_t len = 0;

		if (h->opcode == FUSE_READ || h->opcode == FUSE_FORGET ||
		    h->opcode == FUSE_INTERRUPT)
			continue;
		memset(&out, 0, sizeof(out));
		if (h->opcode == FUSE_INIT) {
			out.init.major = FUSE_KERNEL_VERSION;
			out.init.minor = 31;
			out.init.max_write = 4096;
			len = sizeof(out.init);
		} else if (h->opcode == FUSE_LOOKUP) {
			out.entry = (struct fuse_entry_out){ .nodeid = 2, .entry_valid = 1000,
							     .attr_valid = 1000, .attr = file };
			len = sizeof(out.entry);
		} else if (h->opcode == FUSE_GETATTR) {
			out.attr.attr_valid = 1000;
			out.attr.attr = h->nodeid == 1 ? dir : file;
			len = sizeof(out.attr);
		} else if (h->opcode == FUSE_OPEN) {
			len = sizeof(out.open);
		} else {
			out.h.error = -ENOSYS;
		}
		out.h.unique = h->unique;
		out.h.len = sizeof(out.h) + len;
		if (write(fd, &out, out.h.len) < 0 && errno != ENOENT)
			break;
	}
	_exit(0);
}

static uint64_t silent_file(void)
{
	char dir[] = "/tmp/tachbpf-hostile-XXXXXX", options[64], path[64];
	int fd = open("/dev/fuse", O_RDWR), file;
	pid_t parent = getpid();

	if (fd < 0 || unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    !mkdtemp(dir))
		return none("FUSE");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("hostile", dir, "fuse", 0, options)) {
		rmdir(dir);
		return none("FUSE mount");
	}
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			answer(fd);
		_exit(0);
	}
	close(fd);
	snprintf(path, sizeof(path), "%s/file", dir);
	file = open(path, O_RDWR);
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	if (file < 0)
		return none("FUSE file");
	return mapped(mmap(NULL, 16 * PAGE, PROT_READ, MAP_PRIVATE, file, 0), "FUSE mapping");
}

/* Mapped, and the file ends before. */
static uint64_t beyond_file(void)
{
	int fd = syscall(SYS_memfd_create, "hostile", 0);

	return mapped(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0), "memfd");
}

size_t strange_addresses(uint64_t *out, size_t max)
{
	const uint64_t all[] = {
		0, 1, 7, 4095, 4096, PAGE * 16 - 1,
		~0ull, ~7ull, 0x7fffffffffffull, 0x7ffffffff000ull, 0x800000000000ull,
		0xffff7fffffffffffull, 0xffff800000000000ull, 0xffff888000000000ull,
		0xffffffff81000000ull, 0xffffffffff600000ull, 0xfffffffffffff000ull,
		1ull << 63, (1ull << 56) - 8, (1ull << 57) - 8,
		vvar(), perf_ring(), uring(), unanswered(), silent_file(), beyond_file(),
		mapped(mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), "page"),
		mapped(mmap(NULL, PAGE, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), "page"),
		mapped(mmap(NULL, 1 << 21, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB |
			    MAP_NORESERVE, -1, 0), "huge page"),
		(uintptr_t)pages(1),			/* never touched: no page table yet */
		(uintptr_t)pages_before_hole(1) + PAGE - 1,
	};
	size_t cnt = sizeof(all) / sizeof(all[0]);

	cnt = cnt < max ? cnt : max;
	memcpy(out, all, cnt * sizeof(all[0]));
	return cnt;
}
