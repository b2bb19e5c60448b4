// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_discover.c - inspects children that map files with the contents of a CPython.
 */
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "memory/reader.h"
#include "memory/remote_mem.h"
#include "target/discover.h"
#include "target/inspector.h"
#include "tests/unit/cpython/fake_elf.h"
#include "tests/unit/tach_test.h"

#define PLACE 0x234560000000ull
#define FILES_MAX 16

/* A directory, and the files that the next child maps, at PLACE, PLACE + 1 MiB, ... */
static char dir[] = "/tmp/tachbpf-test-XXXXXX";
static char paths[FILES_MAX][96];
static int files;
static bool unlinked;
static bool much_data;		/* the first file is mapped as data as often as that is possible */
static bool as_code;		/* all files are mapped as code */
static int code_from = FILES_MAX;	/* files from this one on are mapped as code */
static uint64_t prefer;
static unsigned int initialised;	/* bit by file: the runtime has an interpreter */

static struct discovery *d;
static const struct cpython_image *image;
static struct discovered found;
static struct py_proc proc;
static const char *why = found.why;

static int setup(void **state)
{
	assert_non_null(mkdtemp(dir));
	return 0;
}

static int teardown(void **state)
{
	return rmdir(dir);
}

static void add_bytes(const char *name, const void *data, size_t len)
{
	int fd;

	assert_true(files < FILES_MAX);
	snprintf(paths[files], sizeof(paths[0]), "%s/%s", dir, name);
	fd = open(paths[files], O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
	files++;
}

static void add_python(const char *name, uint32_t hex)
{
	static const uint8_t zeros[256];
	static struct fake_elf f;

	f = (struct fake_elf){ .hex = hex, .runtime = zeros, .runtime_len = sizeof(zeros) };
	fake_elf_build(&f);
	add_bytes(name, f.image, sizeof(f.image));
}

/* Map the last file a second time. */
static void add_again(void)
{
	memcpy(paths[files], paths[files - 1], sizeof(paths[0]));
	files++;
}

static void remove_files(void)
{
	while (files)
		unlink(paths[--files]);
	unlinked = false;
}

/* As many mappings of data below PLACE as the kernel allows, with some left for the rest. */
#define LEFT 500
static void map_data(void)
{
	char *at = (char *)PLACE - 0x100000;
	int fd = open(paths[0], O_RDONLY), cnt = 65530;
	FILE *f = fopen("/proc/sys/vm/max_map_count", "r");

	if (fd < 0 || (f && fscanf(f, "%d", &cnt) != 1))
		_exit(1);
	cnt = (cnt < 65530 ? cnt : 65530) - LEFT;
	/* The same page of a file twice side by side is two mappings. */
	for (; cnt > 0; cnt--, at -= 4096)
		if (mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) != at)
			_exit(2);
	close(fd);
}

static void map_files(void)
{
	int i, fd;

	if (much_data)
		map_data();

	for (i = 0; i < files; i++) {
		void *at = (void *)(PLACE + i * 0x100000ull);

		fd = open(paths[i], O_RDONLY);
		if (mmap(at, FAKE_SIZE, PROT_READ | (as_code || i >= code_from ? PROT_EXEC : 0),
			 MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) != at)
			_exit(1);
		if (initialised >> i & 1) {
			mprotect(at, FAKE_SIZE, PROT_READ | PROT_WRITE);
			*(uint64_t *)((char *)at + FAKE_RUNTIME + 40) = 1;
		}
		close(fd);
		if (unlinked)
			unlink(paths[i]);
	}
}

static pid_t child(void)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		map_files();
		if (write(ready[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static int inspect_pid(pid_t pid, uint64_t *seen, uint64_t want, struct discovered *out)
{
	struct proc_info who;
	int err;

	assert_int_equal(proc_info_read(pid, &who), 0);
	do	/* as a capture does: the worker may have had no CPU, or waited for a disk */
		err = discovery_inspect(d, &who, seen, want, out);
	while (err == -ETIMEDOUT && !usleep(10000));
	return err;
}

static int read_mem(pid_t pid, uint64_t at, uint8_t bytes[64])
{
	int err;

	do
		err = discovery_mem(found.image, pid, at, bytes, 64);
	while (err == -ETIMEDOUT && !usleep(10000));
	return err;
}

/* Inspect a child that has mapped the files. */
static int inspect(void)
{
	pid_t pid = child();
	struct discovered again;
	uint64_t seen = 0;
	int err;

	memset(&found, 0xee, sizeof(found));
	err = inspect_pid(pid, &seen, prefer, &found);
	image = found.image;
	proc = found.proc;
	assert_true(seen);
	/* The same files are not inspected again. */
	assert_int_equal(inspect_pid(pid, &seen, 0, &again), -EALREADY);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return err;
}

static void begin(void)
{
	remove_files();		/* of a test that failed */
	d = discovery_new();
	assert_non_null(d);
}

static void end(void)
{
	discovery_free(d);
	remove_files();
}

static void test_found(void **state)
{
	begin();
	add_python("libpython3.12.so.1.0", 0x030c01f0);
	assert_int_equal(inspect(), 0);
	assert_non_null(image);
	assert_string_equal(image->version, "3.12.1");
	assert_int_equal(proc.runtime, PLACE + FAKE_RUNTIME);
	assert_int_equal(proc.none, PLACE + FAKE_NONE);
	assert_int_equal(proc.tls_index, 0);
	assert_int_equal(proc.tss_key, -1);
	assert_int_equal(proc.state, PY_PROC_PYTHON);
	assert_int_equal(proc.tstate_how, PY_TSTATE_TSS_GLIBC);
	assert_int_equal(proc.start_ns, 0);
	assert_int_equal(proc.ident, 0);
	assert_memory_equal(&proc.l, &image->layout, sizeof(proc.l));
	end();
}

/* A file that is mapped without code is no Python, unless it is called libpython. */
static void test_not_python(void **state)
{
	begin();
	assert_int_equal(inspect(), -ENOENT);
	add_python("libruby.so", 0x030c01f0);
	add_python("python3.12", 0x030c01f0);
	assert_int_equal(inspect(), -ENOENT);
	add_bytes("libpython3.12.so", "#!/bin/sh\n", 10);
	add_bytes("libpython3.13.so", "\177ELF", 4);
	assert_int_equal(inspect(), -ENOENT);
	/* A Python is found after files that are none. */
	add_python("libpython3.11.so", 0x030b04f0);
	assert_int_equal(inspect(), 0);
	assert_string_equal(image->version, "3.11.4");
	assert_int_equal(proc.runtime, PLACE + 4 * 0x100000 + FAKE_RUNTIME);
	end();
}

static void test_not_supported(void **state)
{
	begin();
	add_python("libpython3.5.so.1.0", 0x030502f0);
	assert_int_equal(inspect(), -ENOTSUP);
	assert_non_null(strstr(why, "3.5"));
	/* The file is in the cache, with its reason. */
	assert_int_equal(inspect(), -ENOTSUP);
	assert_non_null(strstr(why, "3.5"));
	add_python("libpython3.12.so.1.0", 0x030c00f0);
	assert_int_equal(inspect(), 0);
	assert_string_equal(image->version, "3.12.0");
	end();
}

/* A file is read once, also if it is renamed; another file with its name is read, too. */
static void test_cache(void **state)
{
	const struct cpython_image *first;
	char old[96], other[96];

	begin();
	add_python("libpython3.12.so", 0x030c01f0);
	assert_int_equal(inspect(), 0);
	first = image;
	assert_int_equal(inspect(), 0);
	assert_ptr_equal(image, first);
	snprintf(other, sizeof(other), "%s/libpythonX.so", dir);
	assert_int_equal(rename(paths[0], other), 0);
	snprintf(old, sizeof(old), "%s", paths[0]);
	snprintf(paths[0], sizeof(paths[0]), "%s", other);
	assert_int_equal(inspect(), 0);
	assert_ptr_equal(image, first);
	assert_int_equal(rename(other, old), 0);
	snprintf(paths[0], sizeof(paths[0]), "%s", old);
	/* Replace it as package managers do. */
	files = 1;
	add_python("new", 0x030c07f0);
	assert_int_equal(rename(paths[1], paths[0]), 0);
	files = 1;
	assert_int_equal(inspect(), 0);
	assert_string_equal(image->version, "3.12.7");
	assert_string_equal(first->version, "3.12.1");	/* the old image is still valid */
	end();
}

static void test_deleted(void **state)
{
	if (geteuid()) {
		printf("SKIP: a deleted file can only be opened by root\n");
		return;
	}
	begin();
	add_python("libpython3.12.so", 0x030c01f0);
	unlinked = true;
	assert_int_equal(inspect(), 0);
	assert_string_equal(image->version, "3.12.1");
	end();
}

/* CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE are needed to open deleted files that are mapped. */
static void may_open_deleted(bool may)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	assert_int_equal(syscall(SYS_capget, &head, data), 0);
	data[0].effective = may ? data[0].permitted : data[0].effective & ~(1u << 21);
	data[1].effective = may ? data[1].permitted : data[1].effective & ~(1u << (40 - 32));
	assert_int_equal(syscall(SYS_capset, &head, data), 0);
	inspector_end();	/* the next one has what we have now */
}

/* A file that could not be opened is inspected again, although no other file was mapped. */
static void test_missed(void **state)
{
	uint64_t seen = 0;
	pid_t pid;
	int err;

	if (geteuid()) {
		printf("SKIP: root only may open a deleted file\n");
		return;
	}
	begin();
	add_python("libpython3.12.so", 0x030c01f0);
	unlinked = true;
	pid = child();
	may_open_deleted(false);
	err = inspect_pid(pid, &seen, 0, &found);
	may_open_deleted(true);
	assert_int_equal(err, -ENOENT);
	assert_int_equal(inspect_pid(pid, &seen, 0, &found), 0);
	assert_string_equal(found.image->version, "3.12.1");
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	end();
}

/* What an inspector that had to be replaced had open, the next one opens again. */
static void test_memory_of_an_image_after_the_inspectors_end(void **state)
{
	const uint64_t at = FAKE_BASE + FAKE_NONE;
	uint8_t before[64], after[64];
	uint64_t seen = 0;
	pid_t pid;

	begin();
	add_python("libpython3.12.so", 0x030c01f0);
	pid = child();
	assert_int_equal(inspect_pid(pid, &seen, 0, &found), 0);
	assert_int_equal(read_mem(pid, at, before), 0);
	inspector_end();
	memset(after, 0xee, sizeof(after));
	assert_int_equal(read_mem(pid, at, after), 0);
	assert_memory_equal(before, after, sizeof(after));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	inspector_end();
	assert_true(read_mem(pid, at, after) < 0);
	end();
}

/* A Python after many files that are none. */
static void test_many(void **state)
{
	char name[32];
	int i;

	begin();
	for (i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "libpython%d.so", i);
		add_bytes(name, "no", 2);
	}
	add_python("libpython-last.so", 0x030c01f0);
	assert_int_equal(inspect(), 0);
	assert_int_equal(proc.runtime, PLACE + 12 * 0x100000 + FAKE_RUNTIME);
	end();
}

/* A Python behind more mappings of data than there are places for files. */
static void test_much_data(void **state)
{
	begin();
	much_data = true;
	add_bytes("data", "no", 2);
	add_python("libpython3.12.so", 0x030c01f0);
	assert_int_equal(inspect(), 0);
	assert_int_equal(proc.runtime, PLACE + 0x100000 + FAKE_RUNTIME);
	much_data = false;
	end();
}

/* A file that is mapped as code may have any name. */
static void test_any_code(void **state)
{
	begin();
	as_code = true;
	add_python("plugin.so", 0x030c01f0);
	assert_int_equal(inspect(), 0);
	assert_string_equal(image->version, "3.12.1");
	/* A libpython comes first. */
	add_python("libpython3.11.so", 0x030b04f0);
	assert_int_equal(inspect(), 0);
	assert_string_equal(image->version, "3.11.4");
	as_code = false;
	end();
}

/* Of two CPythons, the one that is initialised is chosen; if none is, the first one. */
static void test_several(void **state)
{
	begin();
	add_python("libpython3.11.so", 0x030b04f0);
	assert_int_equal(inspect(), 0);
	assert_false(found.several);
	assert_int_equal(found.ready, READY_UNASKED);
	add_python("libpython3.12.so", 0x030c01f0);
	assert_int_equal(inspect(), 0);
	assert_true(found.several);
	assert_int_equal(found.ready, READY_NO);
	assert_string_equal(image->version, "3.11.4");
	assert_string_equal(found.also, "");
	/* rt_interp_head of 3.12 is at 40: 3.12 has an interpreter; then both have one. */
	initialised = 1 << 1;
	assert_int_equal(inspect(), 0);
	assert_int_equal(found.ready, READY_YES);
	assert_string_equal(image->version, "3.12.1");
	assert_string_equal(found.also, "");
	initialised = 3;
	assert_int_equal(inspect(), 0);
	assert_string_equal(image->version, "3.11.4");
	assert_non_null(strstr(found.also, "3.12.1 in libpython3.12.so"));
	prefer = PLACE + 0x100000 + FAKE_RUNTIME;	/* the one that is profiled stays */
	assert_int_equal(inspect(), 0);
	assert_string_equal(image->version, "3.12.1");
	assert_non_null(strstr(found.also, "3.11.4 in libpython3.11.so"));
	initialised = 1;	/* unless its interpreter has ended */
	assert_int_equal(inspect(), 0);
	assert_string_equal(image->version, "3.11.4");
	prefer = initialised = 0;
	end();
}

/* Of a single CPython nobody asks whether it is initialised, until somebody wants to know. */
static void test_single(void **state)
{
	uint64_t seen;
	pid_t pid;

	begin();
	add_python("libpython3.12.so", 0x030c01f0);
	for (initialised = 0; initialised < 2; initialised++) {
		pid = child();
		seen = 0;
		assert_int_equal(inspect_pid(pid, &seen, 0, &found), 0);
		assert_int_equal(found.ready, READY_UNASKED);
		assert_int_equal(discovery_ready(pid, &found.proc),
				 initialised ? READY_YES : READY_NO);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_int_equal(discovery_ready(pid, &found.proc), READY_UNKNOWN);
	}
	initialised = 0;
	end();
}

/* Memory that cannot be read in time: "ready" is unknown, and the profiled CPython stays. */
static void test_busy(void **state)
{
	pid_t pid;
	uint64_t seen = 0, head;

	begin();
	add_python("libpython3.11.so", 0x030b04f0);
	add_python("libpython3.12.so", 0x030c01f0);
	initialised = 3;
	pid = child();
	if (remote_mem_read((void *)(intptr_t)pid, PLACE, &head, sizeof(head)) == -EPERM)
		goto out;
	remote_mem_hurry(true);
	remote_mem_grant(1000000000);
	kill(reader_pid(), SIGSTOP);
	assert_int_equal(inspect_pid(pid, &seen, PLACE + 0x100000 + FAKE_RUNTIME, &found), 0);
	assert_int_equal(found.ready, READY_BUSY);
	assert_string_equal(found.image->version, "3.12.1");
	/* Nor is one when the time for reads is spent: it is a Python that can be admitted. */
	seen = 0;
	remote_mem_grant(-1000000000);
	assert_int_equal(inspect_pid(pid, &seen, 0, &found), 0);
	assert_int_equal(found.ready, READY_BUSY);
	assert_string_equal(found.image->version, "3.11.4");
	assert_true(found.several);	/* so that it is inspected again */
	remote_mem_hurry(false);
out:
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	reader_end();
	initialised = 0;
	end();
}

/* A 32-bit program that is called python is a Python that is not supported. */
static void test_32_bit(void **state)
{
	static const uint8_t elf32[64] = { 0x7f, 'E', 'L', 'F', 1, 1, 1 };

	begin();
	as_code = true;
	add_bytes("plugin.so", elf32, sizeof(elf32));
	assert_int_equal(inspect(), -ENOENT);
	add_bytes("python3.11", elf32, sizeof(elf32));
	assert_int_equal(inspect(), -ENOTSUP);
	assert_non_null(strstr(why, "32-bit"));
	as_code = false;
	end();
}

/* A file is mapped twice, once without code: its runtime is in the mapping with code. */
static void test_read_and_loaded(void **state)
{
	begin();
	add_python("libpython3.12.so", 0x030c01f0);
	add_again();
	code_from = 1;
	assert_int_equal(inspect(), 0);
	assert_int_equal(proc.runtime, PLACE + 0x100000 + FAKE_RUNTIME);
	assert_false(found.several);
	code_from = FILES_MAX;
	end();
}

static void test_gone(void **state)
{
	struct proc_info who;
	uint64_t seen = 0;
	pid_t pid;

	begin();
	assert_int_equal(proc_info_read(0x3fffffff, &who), -ESRCH);
	/* A zombie has no mappings any more. */
	pid = child();
	assert_int_equal(proc_info_read(pid, &who), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_true(discovery_inspect(d, &who, &seen, prefer, &found) < 0);
	assert_int_equal(proc_info_read(pid, &who), -ESRCH);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	end();
	discovery_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_not_python),
		cmocka_unit_test(test_not_supported),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_missed),
		cmocka_unit_test(test_memory_of_an_image_after_the_inspectors_end),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_much_data),
		cmocka_unit_test(test_any_code),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_single),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_32_bit),
		cmocka_unit_test(test_read_and_loaded),
		cmocka_unit_test(test_gone),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
