// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* parquet_child.c - see parquet_child.h. */
#include "formats/parquet/parquet_child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output.h"
#include "base/util.h"
#include "model/sink.h"

#define PYTHON_VARIABLE "TACHBPF_PYTHON"
#define INSTALL "pip install pyarrow, or name a Python that has it in " PYTHON_VARIABLE
#define SHOWN_BYTES 256

/* Statuses of the script besides errno, and of ours. */
enum { STATUS_MISSING = 200, STATUS_DAMAGED, STATUS_NO_PYTHON, STATUS_SETUP };

extern const char parquet_script[];

static const char *python_name(void)
{
	const char *named = secure_getenv(PYTHON_VARIABLE);

	return named && *named ? named : "python3";
}

/* Nothing of root is needed if the output is open, or a directory of the user's. */
static int become_user(int fd, int dirfd)
{
	struct stat st;
	uid_t uid;
	gid_t gid;

	if (!output_owner(&uid, &gid) || (fd < 0 && (fstat(dirfd, &st) || st.st_uid != uid)))
		return 0;
	return setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid);
}

static void run_child(int rows, int fd, int dirfd)
{
	const char *python = python_name();
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	signal(SIGPIPE, SIG_DFL);
	if (null < 0 || dup2(rows, STDIN_FILENO) < 0 ||
	    dup2(fd >= 0 ? fd : null, STDOUT_FILENO) < 0 || (fd < 0 && fchdir(dirfd)) ||
	    become_user(fd, dirfd))
		_exit(STATUS_SETUP);
	/* After "-c" Python looks for modules in the working directory, but not with -I. */
	execlp(python, python, "-I", "-c", parquet_script, fd >= 0 ? "file" : "directory",
	       (char *)NULL);
	_exit(STATUS_NO_PYTHON);
}

int parquet_child_start(struct parquet_child *c, int fd, int dirfd)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	int ends[2], err = 0;

	*c = (struct parquet_child){ .rows = -1 };
	if (pipe2(ends, O_CLOEXEC)) {
		err = errno;
	} else {
		c->pid = fork();
		if (!c->pid)
			run_child(ends[0], fd, dirfd);
		err = c->pid < 0 ? errno : 0;
		close(ends[0]);
		c->rows = ends[1];
	}
	if (!err)
		return sigaction(SIGPIPE, &ignore, &c->pipe_was) ? -errno : 0;
	log_error("cannot start Python: %s", strerror(err));
	if (c->rows >= 0)
		close(c->rows);
	*c = (struct parquet_child){ .rows = -1 };
	return -err;
}

/* Returns the error for the child's status, after logging what errno cannot say. */
static int explain(int status)
{
	const char *python = python_name();
	char shown[SHOWN_BYTES];
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_DAMAGED;

	escape_text(python, strlen(python), shown, sizeof(shown));
	if (code < STATUS_MISSING)
		return -code;
	if (code == STATUS_MISSING)
		log_error("Parquet is written by pyarrow, which '%s' does not have: " INSTALL,
			  shown);
	else if (code == STATUS_NO_PYTHON)
		log_error("Parquet is written by Python, and '%s' cannot be run: install "
			  "python3 and pyarrow, or name a Python in " PYTHON_VARIABLE, shown);
	else if (WIFSIGNALED(status))
		log_error("'%s', which writes Parquet, was ended by signal %d", shown,
			  WTERMSIG(status));
	else
		log_error("'%s', which writes Parquet, failed", shown);
	return SINK_REPORTED;
}

int parquet_child_end(struct parquet_child *c, int err)
{
	int status;

	if (!c->pid)
		return err;
	/* Rows without their end are never taken for complete. */
	close(c->rows);
	while (waitpid(c->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	c->pid = 0;
	sigaction(SIGPIPE, &c->pipe_was, NULL);
	if (err && err != -EPIPE)
		return err;
	return status ? explain(status) : err;
}
