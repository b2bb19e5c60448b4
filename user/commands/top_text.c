// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* top_text.c - see top_text.h. */
#include "commands/top_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "capture/capture.h"
#include "commands/top_session.h"
#include "commands/top_state.h"
#include "host/containers.h"
#include "host/identity.h"
#include "host/users.h"
#include "live/live_counts.h"
#include "model/event.h"
#include "resolve/process.h"

double top_percent(uint64_t ns, uint64_t of)
{
	return of ? 100.0 * ns / of : 0;
}

char *top_text(const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	return n < 0 ? NULL : text;
}

/* The name of a user. Valid until the next call. The last ones are remembered: each is read from a file. */
static const char *user_text(uint32_t uid)
{
	static struct {
		uint32_t uid;
		char name[48];	/* "": free */
	} known[16];
	const struct passwd *user;
	size_t i = uid % ARRAY_SIZE(known);

	if (*known[i].name && known[i].uid == uid)
		return known[i].name;
	user = user_by_uid(uid);
	known[i].uid = uid;
	if (user && *user->pw_name)
		snprintf(known[i].name, sizeof(known[i].name), "%s", user->pw_name);
	else
		snprintf(known[i].name, sizeof(known[i].name), "uid %" PRIu32, uid);
	return known[i].name;
}

void top_where(const struct process *p, char out[CONTAINER_LABEL_BYTES])
{
	const struct identity *id = process_identity(p);

	if (id->container && container_is(id->container)) {
		container_label(id->container, out);
	} else if (id->container && *id->container->unit) {
		snprintf(out, CONTAINER_LABEL_BYTES, "%s", id->container->unit);
	} else if (id->uid == IDENTITY_NO_UID) {
		strcpy(out, "-");
	} else {
		snprintf(out, CONTAINER_LABEL_BYTES, "%s", user_text(id->uid));
	}
}

char *top_function(const struct profile_tables *t, uint32_t file, uint32_t func,
			   int32_t line)
{
	const struct string_ref *f = &t->strings[file];
	char *name = text_escape(t->strings[func].data, t->strings[func].len);
	char *path = text_escape(f->data, f->len), *text = NULL;
	const char *base = path ? strrchr(path, '/') : NULL;

	if (name && path) {
		base = base ? base + 1 : path;
		if (!strcmp(base, SYNTHETIC_FILE))
			text = top_text("%s", name);
		else if (line > 0)
			text = top_text("%s (%s:%" PRId32 ")", name, base, line);
		else
			text = top_text("%s (%s)", name, base);
	}
	free(name);
	free(path);
	return text;
}

uint64_t top_span(const struct top_ui *ui, uint64_t now)
{
	if (ui->choice->since_start)
		return now - ui->session->start_ns;
	return live_recent_ns(ui->session->live, now);
}

static const char *mode_name(const struct top_ui *ui)
{
	return record_modes[ui->choice->mode].name;
}

void top_say_what(const struct top_ui *ui, uint64_t span_ns, char *out, size_t size)
{
	snprintf(out, size, "%s mode, %" PRIu32 " Hz, %s %.0f s", mode_name(ui),
		 capture_rate(ui->session->capture),
		 ui->choice->since_start ? "since the start:" : "last", span_ns / 1e9);
}
