// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* elf_serve.c - see elf_serve.h. A file is passed before requests about it. */
#include "elf_helper/elf_serve.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elf_helper/elf_names.h"
#include "elf_helper/elf_tables.h"

static int say_no_file(int main_fd, const struct elf_message *question)
{
	struct elf_message m = { .kind = NO_FILE, .file = question->file,
				 .request = question->request, .result = -ENOENT };

	return elf_channel_send(main_fd, &m, NULL, -1);
}

static int answer_table(int main_fd, struct elf_opener *o, struct elf_held *h,
			const struct elf_packet *question)
{
	struct elf_message m = { .kind = TABLE, .file = question->head.file, .cnt = 1,
				 .request = question->head.request,
				 .bytes = sizeof(struct elf_facts) };
	struct elf_facts facts;
	int fd, err;

	if (question->head.bytes)
		return -EBADMSG;
	fd = elf_tables_make(o, h, &facts);
	m.result = fd < 0 ? fd : 0;
	err = elf_channel_send(main_fd, &m, &facts, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

/* Returns 0; -EBADMSG: it is no request; another -errno. */
static int answer_request(int main_fd, struct elf_opener *o, const struct elf_packet *question)
{
	static int (*const answers[])(int main_fd, struct elf_opener *o, struct elf_held *h,
				      const struct elf_packet *question) = {
		[HELPER_TABLE] = answer_table,
		[HELPER_NAMES] = elf_names_answer,
		[HELPER_PERF_NAMES] = elf_names_answer,
		[HELPER_MATCH] = elf_names_match,
	};
	uint32_t kind = question->head.kind;
	struct elf_held *h;
	int err;

	if (kind == HELPER_FORGET) {
		elf_files_forget(o->files, question->head.file);
		return 0;
	}
	if (kind >= sizeof(answers) / sizeof(answers[0]) || !answers[kind])
		return -EBADMSG;
	h = elf_files_get(o->files, question->head.file);
	if (!h)
		return say_no_file(main_fd, &question->head);
	o->files->busy = h;
	alarm(ELF_SERVE_SECONDS);
	err = answers[kind](main_fd, o, h, question);
	alarm(0);
	o->files->busy = NULL;
	return err;
}

int elf_serve(int main_fd, int opener_fd)
{
	static struct elf_files files;
	static struct elf_packet question;
	struct elf_opener o = { .fd = opener_fd, .files = &files };
	struct pollfd p[2] = { { .fd = main_fd, .events = POLLIN },
			       { .fd = opener_fd, .events = POLLIN } };
	int passed, err = 0;

	while (!err) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return -errno;
		err = elf_channel_receive(main_fd, &question, &passed, MSG_DONTWAIT);
		if (passed >= 0)
			close(passed);
		/* Before answering: files that were passed before the request are there. */
		if (!err || err == -EAGAIN) {
			int of_opener = elf_opener_take(&o);

			err = of_opener ? of_opener : err;
		}
		if (!err)
			err = answer_request(main_fd, &o, &question);
		else if (err == -EAGAIN)
			err = 0;
	}
	elf_files_free(&files);
	return err == -EPIPE ? 0 : err;
}
