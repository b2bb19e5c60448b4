// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* event_probes.c - see event_probes.h. */
#include "probe/event_probes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "probe/library_path.h"

static void want(const struct event_spec *spec, struct prober_wanted *w)
{
	memset(w, 0, sizeof(*w));
	if (spec->kind == EVENT_UPROBE) {
		w->cnt = 1;
		w->needed = 1;
		snprintf(w->names[0], sizeof(w->names[0]), "%s", spec->what);
	} else {
		snprintf(w->provider, sizeof(w->provider), "%s", spec->group);
		snprintf(w->probe, sizeof(w->probe), "%s", spec->what);
	}
}

static void say_found(const struct event_spec *spec, const struct prober_found *found)
{
	char text[4 * PROBER_NAME_BYTES];
	uint32_t i;

	for (i = 0; i < found->file_cnt; i++) {
		escape_text(found->names[i], strlen(found->names[i]), text, sizeof(text));
		log_debug("-e %s: it is in %s", spec->name, text);
	}
	if (found->first_err)
		log_warn("-e %s: not every place could be probed: %s", spec->name,
			 strerror(-found->first_err));
}

/* What to do about an error; "": nothing is known. */
static const char *remedy(const struct event_spec *spec, int err)
{
	switch (err) {
	case -ENOENT:
		return spec->kind == EVENT_USDT ?
			       "no such USDT probe is in it (`readelf -n FILE` lists them)" :
			       "no function of this name is in it (`nm -D FILE` lists them)";
	case -ETIMEDOUT:
		return "a file does not answer";
	case -EMFILE:
		return "too many open files: raise the limit (ulimit -n)";
	case -ESRCH:
		return "the process is gone";
	case -EOPNOTSUPP:
	case -ENODEV:
		return "the kernel cannot probe it (CONFIG_UPROBE_EVENTS)";
	case -E2BIG:
		return "it is in too many places";
	default:
		return strerror(-err);
	}
}

static int probe(const struct event_spec *spec, const struct prober_wanted *w,
		 prober_take_fn take, void *ctx)
{
	struct prober_found found;
	int err = prober_probe(w, take, ctx, &found);

	if (!err && found.file_cnt && !found.probe_cnt)
		err = found.first_err ? found.first_err : -ENOENT;
	else if (!err)
		say_found(spec, &found);
	return err;
}

int event_probe_process(const struct event_spec *spec, pid_t tgid, uint64_t start_ns,
			bool everywhere, prober_take_fn take, void *ctx)
{
	struct prober_wanted w;
	int err;

	want(spec, &w);
	w.tgid = tgid;
	w.start_ns = start_ns;
	w.everywhere = everywhere;
	snprintf(w.file, sizeof(w.file), "%s", spec->file);
	err = probe(spec, &w, take, ctx);
	if (err == -ENOENT && strchr(spec->file, '/')) {	/* mapped by another path, or not yet */
		snprintf(w.path, sizeof(w.path), "%s", spec->file);
		err = probe(spec, &w, take, ctx);
		if (err)
			log_error("-e %s: %s: %s", spec->name, spec->file, remedy(spec, err));
		return err;
	}
	if (err == -ENOENT && *spec->file)
		log_error("-e %s: of the files that process %d has mapped and that are called %s*: "
			  "%s", spec->name, tgid, spec->file, remedy(spec, err));
	else if (err)
		log_error("-e %s: process %d cannot be probed: %s", spec->name, tgid,
			  err == -ENOENT ? "none of its files has such a probe (`readelf -n FILE` "
					   "lists them)" : remedy(spec, err));
	return err;
}

int event_probe_file(const struct event_spec *spec, prober_take_fn take, void *ctx)
{
	struct prober_wanted w;
	int err;

	want(spec, &w);
	w.everywhere = true;
	if (!*spec->file) {
		log_error("-e %s: in which file? With -p it is looked for in what the process has "
			  "mapped; otherwise give usdt:FILE:%s:%s, with a path or a library's name",
			  spec->name, spec->group, spec->what);
		return -EINVAL;
	}
	err = library_path(spec->file, w.path, sizeof(w.path));
	if (err) {
		log_error("-e %s: neither ld.so.cache nor PATH knows %s: give its path, or -p PID, "
			  "where it is looked for in what the process has mapped", spec->name,
			  spec->file);
		return err;
	}
	err = probe(spec, &w, take, ctx);
	if (err)
		log_error("-e %s: %s: %s", spec->name, w.path, remedy(spec, err));
	return err;
}
