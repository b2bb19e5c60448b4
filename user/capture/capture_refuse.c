// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* capture_refuse.c - see capture_refuse.h. */
#include "capture/capture_refuse.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "capture/capture_state.h"
#include "host/proc.h"
#include "target/discover.h"

/* The first Python that a process has started. */
struct python_below {
	struct capture *s;
	pid_t ancestor;
	struct proc_info who;
};

static int find_below(void *ctx, pid_t tgid)
{
	struct python_below *b = ctx;
	struct discovered found;
	uint64_t files = 0;
	int err;

	if (tgid == b->ancestor || !proc_descends_from(tgid, b->ancestor) ||
	    proc_info_read(tgid, &b->who))
		return 0;
	err = discovery_inspect(b->s->discovery, &b->who, &files, 0, &found);
	return !err || err == -EAGAIN || err == -ENOTSUP;
}

/* As of PyInstaller, whose programs start themselves again, or of a shell. */
static void say_not_python(struct capture *s, pid_t tgid)
{
	struct python_below b = { .s = s, .ancestor = tgid };
	char comm[4 * PROC_COMM_MAX];

	if (proc_each(find_below, &b) > 0)
		log_error("process %d is not Python, but it has started process %d (%s), which is: "
			  "give that one", tgid, b.who.tgid,
			  escape_text(b.who.stat.comm, strlen(b.who.stat.comm), comm, sizeof(comm)));
	else
		log_error("process %d is not Python: no interpreter and no libpython in it "
			  "(tachbpf -a lists what it finds)", tgid);
}

int capture_refuse(struct capture *s, pid_t tgid, int err, const char *why)
{
	if (s->life.err)
		return s->life.err;	/* its file cannot be created; that was logged */
	if (err == -ENOENT && s->args.children)
		log_warn("process %d is not Python: only what it starts is recorded", tgid);
	else if (err == -ENOENT)
		say_not_python(s, tgid);
	else if (err == -EACCES || err == -EPERM)
		log_error("process %d cannot be profiled: the kernel does not let this user read "
			  "its memory (%s); a security module, or a user namespace that it is in, "
			  "protects it", tgid, why);
	else
		log_error("process %d cannot be profiled: %s", tgid, why);
	return err;
}
