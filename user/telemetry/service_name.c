// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* service_name.c - the name of a service: rules, then the order of service.h. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "telemetry/program_name.h"
#include "telemetry/resource_variable.h"
#include "telemetry/service.h"
#include "telemetry/service_places.h"

_Static_assert(PROGRAM_NAME_BYTES <= SERVICE_NAME_BYTES, "a program's name is a service's");

#define FACT_BYTES 1024

/* ---- names ---- */

/*
 * Takes a text as the name, without blanks around it. Returns false if it is none. SDKs that do not
 * know say "unknown_service", or that and ":python" (OpenTelemetry specification, resource/sdk.md).
 */
static bool take_name(const char *text, char out[SERVICE_NAME_BYTES])
{
	static const char unknown[] = "unknown_service";
	size_t len;

	text += strspn(text, " ");
	len = strlen(text);
	while (len && text[len - 1] == ' ')
		len--;
	if (!strncmp(text, unknown, sizeof(unknown) - 1) &&
	    (!text[sizeof(unknown) - 1] || text[sizeof(unknown) - 1] == ':'))
		return false;
	escape_text(text, len, out, SERVICE_NAME_BYTES);
	return len;
}

static bool name_of_environ(const struct otel_environ *env, char out[SERVICE_NAME_BYTES])
{
	struct attrs a;

	if (!env)
		return false;
	if (take_name(env->service_name, out))
		return true;
	attrs_clear(&a);
	resource_variable_read(env->resource, &a);
	return take_name(attrs_text(&a, "service.name"), out);
}

static bool name_of_program(const struct service_facts *f, char out[SERVICE_NAME_BYTES])
{
	return program_name(f->cmdline ? f->cmdline : "", f->cmdline ? f->cmdline_len : 0,
			    f->exe ? f->exe : "", f->comm ? f->comm : "", out);
}

/* The name without rules. */
static enum service_source own_name(const struct service_facts *f, char out[SERVICE_NAME_BYTES])
{
	char place[SERVICE_PLACE_BYTES];

	if (f->context && take_name(attrs_text(f->context, "service.name"), out))
		return SERVICE_CONTEXT;
	if (name_of_environ(f->env, out))
		return SERVICE_ENVIRON;
	if (f->container) {
		if (take_name(service_workload(f->container, place), out))
			return SERVICE_POD;
		if (take_name(service_container(f->container, place), out))
			return SERVICE_CONTAINER;
		if (take_name(service_unit(f->container, place), out))
			return SERVICE_UNIT;
	}
	if ((!name_of_program(f, out) && !f->forked) || !f->parent || !*f->parent)
		return SERVICE_PROGRAM;
	return take_name(f->parent, out) ? SERVICE_PARENT : SERVICE_PROGRAM;
}

/* ---- facts ---- */

const char *const service_fact_names[FACT_CNT] = {
	[FACT_PROGRAM] = "program", [FACT_SERVICE] = "service", [FACT_EXE] = "exe",
	[FACT_COMM] = "comm", [FACT_COMMAND] = "command", [FACT_UNIT] = "unit",
	[FACT_CONTAINER] = "container", [FACT_IMAGE] = "image", [FACT_POD] = "pod",
	[FACT_WORKLOAD] = "workload", [FACT_NAMESPACE] = "namespace", [FACT_USER] = "user",
	[FACT_PYTHON] = "python",
};

/* Finds the fact with this name. Returns FACT_CNT if there is none. */
static enum service_fact service_fact_find(const char *name, size_t len)
{
	enum service_fact f;

	for (f = 0; f < FACT_CNT; f++)
		if (strlen(service_fact_names[f]) == len &&
		    !memcmp(service_fact_names[f], name, len))
			break;
	return f;
}

static void set_text(char out[FACT_BYTES], const char *text)
{
	text = text ? text : "";
	escape_text(text, strlen(text), out, FACT_BYTES);
}

static void fact_of_container(const struct container *c, enum service_fact fact,
			      char out[FACT_BYTES])
{
	char place[SERVICE_PLACE_BYTES];

	set_text(out, fact == FACT_UNIT ? c->unit : fact == FACT_IMAGE ? c->image :
		 fact == FACT_POD ? c->pod : fact == FACT_NAMESPACE ? c->pod_namespace :
		 fact == FACT_WORKLOAD ? service_workload(c, place) : c->name);
}

/* The text of a fact, cleaned; "": unknown. */
static void fact_text(const struct service_facts *f, enum service_fact fact, char out[FACT_BYTES])
{
	char name[SERVICE_NAME_BYTES] = "";

	switch (fact) {
	case FACT_PROGRAM:
		name_of_program(f, name);
		set_text(out, name);
		return;
	case FACT_SERVICE:
		own_name(f, name);
		set_text(out, name);
		return;
	case FACT_COMMAND:
		program_cmdline(f->cmdline, f->cmdline ? f->cmdline_len : 0, out, FACT_BYTES);
		return;
	case FACT_EXE:
		set_text(out, f->exe);
		return;
	case FACT_COMM:
		set_text(out, f->comm);
		return;
	case FACT_USER:
		set_text(out, f->user);
		return;
	case FACT_PYTHON:
		set_text(out, f->python);
		return;
	default:
		out[0] = '\0';
		if (f->container)
			fact_of_container(f->container, fact, out);
	}
}

/* ---- rules ---- */

/*
 * The next part of a template: *text with its length, or a fact. Returns where the next one begins;
 * NULL: the fact does not exist, or a brace is unmatched.
 */
static const char *next_part(const char *at, const char **text, size_t *len,
			     enum service_fact *fact)
{
	*fact = FACT_CNT;
	*text = at;
	*len = strcspn(at, "{}");
	if (*len)
		return at + *len;
	*text = at + 1;
	*len = strcspn(*text, "{}");
	if (*at == '{' && (*text)[*len] == '}')
		*fact = service_fact_find(*text, *len);
	return *fact == FACT_CNT ? NULL : *text + *len + 1;
}

static size_t stars_in(const char *glob)
{
	size_t stars = 0;

	for (; *glob; glob++)
		stars += *glob == '*';
	return stars;
}

int service_rule_check(const struct service_rule *rule, char *why, size_t size)
{
	const char *at = rule->name ? rule->name : "", *text, *next;
	enum service_fact fact;
	size_t globs = 0, len;

	for (fact = 0; fact < FACT_CNT; fact++) {
		if (!rule->glob[fact])
			continue;
		globs++;
		if (stars_in(rule->glob[fact]) <= SERVICE_GLOB_STARS_MAX)
			continue;
		snprintf(why, size, "the pattern '%.100s' contains more than %d stars",
			 rule->glob[fact], SERVICE_GLOB_STARS_MAX);
		return -EINVAL;
	}
	if (!*at || !globs) {
		snprintf(why, size, "a rule must have a name, and a pattern for its processes");
		return -EINVAL;
	}
	for (; *at; at = next) {
		next = next_part(at, &text, &len, &fact);
		if (next)
			continue;
		snprintf(why, size, "the name '%.100s' has '%.*s' at a brace; between braces "
			 "there can be " SERVICE_FACT_WORDS, rule->name,
			 (int)(len < 40 ? len : 40), text);
		return -EINVAL;
	}
	return 0;
}

static void expand_template(const struct service_facts *f, const char *at,
			    char out[SERVICE_NAME_BYTES])
{
	char all[SERVICE_NAME_BYTES], value[FACT_BYTES];
	size_t used = 0, len;
	const char *text;

	while (at && *at && used < sizeof(all) - 1) {
		enum service_fact fact;

		at = next_part(at, &text, &len, &fact);
		if (fact != FACT_CNT) {
			fact_text(f, fact, value);
			text = value;
			len = strlen(value);
		}
		if (len > sizeof(all) - 1 - used)
			len = sizeof(all) - 1 - used;
		memcpy(all + used, text, len);
		used += len;
	}
	/* Cleaned a second time, because a character may be cut at the end. */
	escape_text(all, used, out, SERVICE_NAME_BYTES);
}

static bool fact_matches(const struct service_facts *f, enum service_fact fact, const char *glob)
{
	char text[FACT_BYTES], both[2 * FACT_BYTES], *shown = text;
	const char *slash;

	fact_text(f, fact, text);
	if (fact == FACT_EXE && !strchr(glob, '/')) {
		slash = strrchr(text, '/');
		shown = slash ? text + (slash - text) + 1 : text;
	} else if (fact == FACT_POD && strchr(glob, '/') && f->container) {
		snprintf(both, sizeof(both), "%s/%s", f->container->pod_namespace, text);
		shown = both;
	} else if (fact == FACT_CONTAINER && f->container && !fnmatch(glob, f->container->id, 0)) {
		return true;
	}
	return !fnmatch(glob, shown, 0);
}

static bool name_by_rule(const struct service_facts *f, const struct service_rule *rule,
			 char out[SERVICE_NAME_BYTES])
{
	char name[SERVICE_NAME_BYTES];
	enum service_fact fact;

	for (fact = 0; fact < FACT_CNT; fact++)
		if (rule->glob[fact] && !fact_matches(f, fact, rule->glob[fact]))
			return false;
	expand_template(f, rule->name, name);
	return take_name(name, out);
}

enum service_source service_name(const struct service_facts *f, const struct service_config *config,
				 char out[SERVICE_NAME_BYTES])
{
	size_t i;

	for (i = 0; i < config->rule_cnt; i++)
		if (name_by_rule(f, &config->rules[i], out))
			return SERVICE_RULE;
	return own_name(f, out);
}
