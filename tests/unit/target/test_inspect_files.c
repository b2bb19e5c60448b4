// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_inspect_files.c - the inspector's cache has few places here: files that never end, with and
 * without a CPython.
 */
#include <dirent.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FILES_MAX 32
#define IMAGES_MAX 32
#define IMAGES_OPEN_MAX 16
#include "user/base/lru.c"
#include "user/target/inspect_files.c"

#include "tests/unit/cpython/fake_elf.h"
#include "tests/unit/tach_test.h"

static struct file_cache *c;
static char path[] = "/tmp/tachbpf-test-XXXXXX";

/* A file with other contents than all before; python: a CPython. Its id. */
static struct file_id file(bool python, uint32_t owner)
{
	static const uint8_t zeros[256];
	static struct fake_elf f;
	static long number;
	const struct timespec times[2] = { { ++number, 0 }, { number, 0 } };
	const struct cpython_image *image;
	struct file_id id = { 0 };
	struct stat st;
	int fd = open(path, O_RDWR | O_TRUNC);

	assert_true(fd >= 0);
	f = (struct fake_elf){ .hex = 0x030c01f0, .runtime = zeros, .runtime_len = sizeof(zeros) };
	fake_elf_build(&f);
	if (python)
		assert_int_equal(write(fd, f.image, sizeof(f.image)), sizeof(f.image));
	else
		assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(fstat(fd, &st), 0);
	file_cache_set_owner(c, owner);
	assert_int_equal(file_cache_image(c, fd, &image, &id), python ? 0 : -ENOENT);
	close(fd);
	return id_of(&st);
}

static void free_cache(void)
{
	struct known_file *f;

	while ((f = LRU_STRUCT(lru_oldest(&c->others), struct known_file, lru)))
		forget_file(c, f);
	while ((f = LRU_STRUCT(lru_oldest(&c->images), struct known_file, lru)))
		forget_file(c, f);
	u64map_free(&c->files);
	lru_free(&c->others);
	lru_free(&c->images);
	lru_free(&c->open);
	free(c);
}

/* The owner of the file that was added last. */
static uint32_t last_owner(void)
{
	static const uint8_t text[] = "other text";
	const struct cpython_image *image;
	struct file_id id;
	int fd = memfd_create("other", MFD_CLOEXEC);
	struct known_file *f;
	struct stat st;

	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	assert_int_equal(file_cache_image(c, fd, &image, &id), -ENOENT);
	assert_int_equal(fstat(fd, &st), 0);
	id = id_of(&st);
	f = find_known(c, &id);
	close(fd);
	assert_non_null(f);
	return f->lru.owner ? f->lru.owner->uid : LRU_OWNER_UNKNOWN;
}

/* Whose files of a process are is looked up when the first one comes, and not before. */
static void test_files_of_a_process(void **state)
{
	pid_t gone = fork();
	uint32_t uid = geteuid();

	if (!gone)
		_exit(0);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	c = file_cache_new();
	assert_non_null(c);
	file_cache_set_process(c, getpid());
	assert_int_equal(c->owner_of, getpid());
	assert_int_equal(last_owner(), uid);
	assert_int_equal(c->owner_of, 0);
	assert_int_equal(last_owner(), uid);
	file_cache_set_process(c, gone);
	assert_int_equal(last_owner(), LRU_OWNER_UNKNOWN);
	file_cache_set_process(c, getpid());
	file_cache_set_owner(c, uid + 1);	/* what was said last counts */
	assert_int_equal(last_owner(), uid + 1);
	free_cache();
}

static size_t open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

struct counts {
	size_t others, images, open;	/* files without and with a CPython; open ones of these */
};

static struct counts counts(void)
{
	return (struct counts){ c->others.cnt, c->images.cnt, c->open.cnt };
}

static void test_images_and_descriptors(void **state)
{
	struct file_id others, roots;
	size_t before, i;

	c = file_cache_new();
	file(false, 0);		/* starts the parser, which has descriptors */
	before = open_fds();
	others = file(true, 1001);
	roots = file(true, 0);
	for (i = 0; i < 300; i++) {
		struct file_id id = file(true, 1000);

		assert_true(file_cache_fd(c, &id, 0) >= 0);	/* the new one is open */
		assert_true(counts().images <= 2 + IMAGES_MAX / 8);
		assert_true(counts().open <= 2 + IMAGES_OPEN_MAX / 8);
	}
	assert_int_equal(counts().images, 2 + IMAGES_MAX / 8);
	assert_int_equal(open_fds(), before + 2 + IMAGES_OPEN_MAX / 8);
	assert_true(file_cache_fd(c, &others, 0) >= 0);
	assert_true(file_cache_fd(c, &roots, 0) >= 0);
	free_cache();
	assert_int_equal(open_fds(), before);
}

/* Kept descriptors leave some for the files that are opened next. */
static void test_few_descriptors(void **state)
{
	struct rlimit before, few;
	size_t i;
	int fd;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	c = file_cache_new();
	file(false, 0);
	few = before;
	few.rlim_cur = open_fds() + DESCRIPTORS_LEFT + 4;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (i = 0; i < 30; i++)
		file(true, i);
	assert_in_range(counts().open, 1, 8);
	for (i = 0; i < DESCRIPTORS_LEFT; i++) {
		fd = dup(0);
		assert_true(fd >= 0);
	}
	for (; i; i--)
		close(fd--);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	free_cache();
}

static void test_files_without_python(void **state)
{
	struct file_id others;
	size_t i;

	c = file_cache_new();
	others = file(false, 1001);
	for (i = 0; i < 300; i++)
		file(false, 1000);
	assert_int_equal(counts().others, 1 + FILES_OF_USER);
	assert_non_null(find_known(c, &others));
	for (i = 1; i < 300; i++)
		file(false, 2000 + i);
	assert_int_equal(counts().others, FILES_MAX);
	free_cache();
}

/* An image whose descriptor went gets one again when it is looked at. */
static void test_opened_again(void **state)
{
	const struct cpython_image *image;
	struct file_id id, same;
	int fd;

	c = file_cache_new();
	id = file(true, 1000);
	close_kept(c, find_known(c, &id));
	assert_int_equal(file_cache_fd(c, &id, 0), -ENOENT);
	fd = open(path, O_RDONLY);
	assert_int_equal(file_cache_image(c, fd, &image, &same), 0);
	close(fd);
	assert_true(file_cache_fd(c, &id, 0) >= 0);
	free_cache();
}

/* Nobody keeps the file's descriptor, but a process has it mapped. */
static void test_opened_where_it_is_mapped(void **state)
{
	struct file_id id;
	void *mapped;
	int fd;

	c = file_cache_new();
	id = file(true, 1000);
	fd = open(path, O_RDONLY);
	mapped = mmap(NULL, FAKE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	close(fd);
	close_kept(c, find_known(c, &id));
	assert_true(file_cache_fd(c, &id, getpid()) >= 0);
	forget_file(c, find_known(c, &id));
	assert_true(file_cache_fd(c, &id, getpid()) >= 0);
	forget_file(c, find_known(c, &id));
	assert_int_equal(munmap(mapped, FAKE_SIZE), 0);
	assert_int_equal(file_cache_fd(c, &id, getpid()), -ENOENT);
	free_cache();
}

static void *map_file(const struct fake_elf *f)
{
	int fd = fake_file(f->image, sizeof(f->image));
	void *mapped = mmap(NULL, FAKE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	assert_ptr_not_equal(mapped, MAP_FAILED);
	close(fd);
	return mapped;
}

static size_t golden(const char *name, uint8_t *out, size_t size)
{
	char where[512];
	size_t len;
	FILE *f;

	snprintf(where, sizeof(where), "%s/%s", GOLDEN_DIR, name);
	f = fopen(where, "rb");
	assert_non_null(f);
	len = fread(out, 1, size, f);
	fclose(f);
	return len;
}

/* asyncio's tasks need an interpreter that tells and the module, in one file or in two. */
static void test_async(void **state)
{
	static const uint8_t getter[] = { FAKE_TLS_CODE };
	static uint8_t offsets[1024], section[256];
	static struct fake_elf f;
	struct async_layout found;
	void *python, *old, *module;

	c = file_cache_new();
	assert_int_equal(inspect_async(c, getpid(), &found), -ENOENT);
	f = (struct fake_elf){ .asyncio = section };
	f.asyncio_len = golden("asyncio_3.14.bin", section, sizeof(section));
	fake_elf_build(&f);
	module = map_file(&f);
	assert_int_equal(inspect_async(c, getpid(), &found), -ENOENT);	/* no interpreter */
	f = (struct fake_elf){ .hex = 0x030c01f0, .runtime = offsets, .runtime_len = 256 };
	fake_elf_build(&f);
	old = map_file(&f);
	assert_int_equal(inspect_async(c, getpid(), &found), -EOPNOTSUPP);
	munmap(old, FAKE_SIZE);
	f = (struct fake_elf){ .runtime = offsets, .getter = getter, .getter_len = sizeof(getter) };
	f.runtime_len = golden("debug_offsets_3.14.bin", offsets, sizeof(offsets));
	fake_elf_build(&f);
	python = map_file(&f);
	assert_int_equal(inspect_async(c, getpid(), &found), 0);
	assert_true(found.valid && found.task.ts_running_task == 872);
	assert_true(found.coro.gen_frame == 72 && found.coro.awaited_below == 8);
	munmap(module, FAKE_SIZE);
	assert_int_equal(inspect_async(c, getpid(), &found), -ENOENT);
	assert_false(found.valid);
	munmap(python, FAKE_SIZE);
	f.runtime_len = golden("debug_offsets_3.15.bin", offsets, sizeof(offsets));
	f.asyncio = section;
	f.asyncio_len = golden("asyncio_3.15.bin", section, sizeof(section));
	fake_elf_build(&f);
	python = map_file(&f);
	assert_int_equal(inspect_async(c, getpid(), &found), 0);
	assert_true(found.task.ts_tasks_head == 1048 && found.coro.state_yield_from == 2);
	munmap(python, FAKE_SIZE);
	free_cache();
}

static int set_up(void **state)
{
	int fd = mkstemp(path);

	close(fd);
	return fd < 0;
}

static int tear_down(void **state)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_images_and_descriptors),
		cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_files_without_python),
		cmocka_unit_test(test_files_of_a_process),
		cmocka_unit_test(test_opened_again),
		cmocka_unit_test(test_opened_where_it_is_mapped),
		cmocka_unit_test(test_async),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
