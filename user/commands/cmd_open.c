// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_open.c - `tachbpf open`: opens a page of profiles, from a private directory, in the browser.
 */
#include "commands/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/util.h"
#include "commands/options.h"
#include "host/opener.h"
#include "model/sink.h"

#define DIRECTORY "tachbpf-open-XXXXXX"

/*
 * Returns where to create the directory. Root uses no directory named by a variable: it may belong
 * to another user, who could replace ours.
 */
static const char *parent_dir(void)
{
	const char *own = geteuid() ? getenv("TMPDIR") : NULL;

	return own && *own == '/' ? own : "/tmp";
}

/* The page is for the user who called sudo, and so is the directory. 0 or -errno. */
static int give_away(const char *dir)
{
	uid_t uid;
	gid_t gid;
	int fd, err = 0;

	if (!output_sudo_user(&uid, &gid))
		return 0;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, uid, gid))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

/* Creates a directory that others cannot enter. 0, or -errno after logging. */
static int make_dir(char dir[PATH_MAX])
{
	int n = snprintf(dir, PATH_MAX, "%s/" DIRECTORY, parent_dir());
	int err = n < PATH_MAX ? 0 : -ENAMETOOLONG;

	if (!err && !mkdtemp(dir))
		err = -errno;
	if (err) {
		log_error("cannot create a directory for the page in %s: %s; -o FILE writes it "
			  "elsewhere", parent_dir(), strerror(-err));
		return err;
	}
	err = give_away(dir);
	if (err) {
		log_error("cannot give '%s' to the user who called sudo: %s", dir, strerror(-err));
		rmdir(dir);
	}
	return err;
}

/* Opens the page, and prints where it is. Returns the exit status. */
static int show_page(struct opener *opener, const char *page)
{
	printf("%s\n", page);
	if (output_flush_stdout())
		return EXIT_FAILURE;
	opener_show(opener, page);
	return opener->why_not ? EXIT_FAILURE : EXIT_SUCCESS;
}

int open_run(const struct convert_options *opts)
{
	struct convert_options convert = *opts;
	char dir[PATH_MAX], page[PATH_MAX + 64];
	struct opener opener;
	int status;

	if (!opts->export.output) {
		if (make_dir(dir))
			return EXIT_FAILURE;
		snprintf(page, sizeof(page), "%s/%s.html", dir, opts->export.format->name);
		convert.export.output = page;
	}
	opener_start(&opener);
	status = convert_run(&convert);
	if (status == EXIT_SUCCESS)
		status = show_page(&opener, convert.export.output);
	else if (!opts->export.output && rmdir(dir) && errno == ENOTEMPTY)
		show_page(&opener, page);	/* one of several files could not be read */
	opener_stop(&opener);
	return status;
}
