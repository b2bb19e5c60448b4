// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* proc_filter.c - parses conditions on processes, and evaluates them. See proc_filter.h. */
#include "target/proc_filter.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/containers.h"
#include "host/users.h"

#define COMM_MAX 15		/* TASK_COMM_LEN without its NUL, include/linux/sched.h */
#define SHOWN_MAX 128
#define PID_MAX 4194304		/* PID_MAX_LIMIT, include/linux/threads.h */

static bool is_glob(const char *s)
{
	return strpbrk(s, "*?[");
}

static int out_of_memory(void)
{
	log_error("out of memory");
	return -ENOMEM;
}

static int rule_bad(struct proc_filter_rule *rule, const char *remedy)
{
	rule->remedy = remedy;
	return -EINVAL;
}

/* ---- kinds: from the user's text to what is compared. 0, -ENOMEM (logged), or rule_bad() ---- */

static int parse_nothing(struct proc_filter_rule *rule)
{
	return 0;
}

static int parse_uid(struct proc_filter_rule *rule)
{
	struct passwd *pw = user_by_name(rule->text);
	unsigned long uid;
	char *end;

	if (pw) {
		rule->number = pw->pw_uid;
		return 0;
	}
	errno = 0;
	uid = strtoul(rule->text, &end, 10);
	if (!isdigit((unsigned char)*rule->text) || *end || errno || uid >= UINT32_MAX)
		return rule_bad(rule, "no such user: expected a name or a number (getent passwd "
				"lists all)");
	rule->number = (uint32_t)uid;
	return 0;
}

static int parse_pid(struct proc_filter_rule *rule)
{
	unsigned long pid;
	char *end;

	errno = 0;
	pid = strtoul(rule->text, &end, 10);
	if (!isdigit((unsigned char)*rule->text) || *end || errno || !pid || pid > PID_MAX)
		return rule_bad(rule, "expected process IDs, such as 1234 or 1234,5678");
	rule->number = (uint32_t)pid;
	return 0;
}

static bool has_dots(const char *path)
{
	size_t len;

	for (; *path; path += len) {
		path += *path == '/';
		len = strcspn(path, "/");
		if ((len == 1 && *path == '.') || (len == 2 && !memcmp(path, "..", 2)))
			return true;
	}
	return false;
}

/* Normalise the path: one "/" at the beginning, none at the end, none doubled. */
static int parse_cgroup(struct proc_filter_rule *rule)
{
	const char *from = rule->text;
	char *to = malloc(strlen(from) + 2);

	if (!to)
		return out_of_memory();
	rule->pattern = to;
	rule->number = FILTER_ANY_HIERARCHY;
	while (*from) {
		while (*from == '/')
			from++;
		if (!*from)
			break;
		*to++ = '/';
		while (*from && *from != '/')
			*to++ = *from++;
	}
	if (to == rule->pattern)
		*to++ = '/';
	*to = '\0';
	if (has_dots(rule->pattern))
		return rule_bad(rule, "expected a path without . and ..");
	return 0;
}

/* As in systemctl, a name without a type is a service. */
static int parse_unit(struct proc_filter_rule *rule)
{
	static const char *const suffixes[] = { ".service", ".scope", ".slice", ".socket",
						".mount", ".swap" };
	size_t i, len = strlen(rule->text);
	bool has = is_glob(rule->text);

	for (i = 0; i < ARRAY_SIZE(suffixes); i++)
		has |= len > strlen(suffixes[i]) &&
		       !strcmp(rule->text + len - strlen(suffixes[i]), suffixes[i]);
	if (strchr(rule->text, '/'))
		return rule_bad(rule, "expected the name of a unit, such as nginx or user.slice; "
				"--cgroup takes paths");
	if (asprintf(&rule->pattern, "%s%s", rule->text, has ? "" : ".service") < 0) {
		rule->pattern = NULL;
		return out_of_memory();
	}
	return 0;
}

/* The kernel keeps 15 bytes of a comm. */
static int parse_comm(struct proc_filter_rule *rule)
{
	rule->pattern = is_glob(rule->text) ? strdup(rule->text) : strndup(rule->text, COMM_MAX);
	return rule->pattern ? 0 : out_of_memory();
}

static const struct {
	const char *name;
	bool is_list;		/* a list with commas is allowed */
	int (*parse)(struct proc_filter_rule *rule);
} kinds[FILTER_KINDS] = {
	[FILTER_CONTAINER] = { "container", false, parse_nothing },
	[FILTER_POD] = { "pod", false, parse_nothing },
	[FILTER_CGROUP] = { "cgroup", false, parse_cgroup },
	[FILTER_UNIT] = { "unit", false, parse_unit },
	[FILTER_PID] = { "pid", true, parse_pid },
	[FILTER_UID] = { "uid", true, parse_uid },
	[FILTER_COMM] = { "comm", false, parse_comm },
	[FILTER_EXE] = { "exe", false, parse_nothing },
};

const char *proc_filter_kind_name(enum proc_filter_kind kind)
{
	return kinds[kind].name;
}

/* ---- conditions ---- */

static void free_rule(struct proc_filter_rule *rule)
{
	free(rule->pattern);
	free(rule->text);
}

/* After a failure, the caller frees *rule, which has its text if there was memory for it. */
static int add_one(struct proc_filter *s, struct proc_filter_rule *rule, const char *text,
		   size_t len)
{
	struct proc_filter_rule *rules = reallocarray(s->rules, s->cnt + 1, sizeof(*rules));
	int err;

	if (!rules)
		return out_of_memory();
	s->rules = rules;
	rule->text = strndup(text, len);
	if (!rule->text)
		return out_of_memory();
	err = *rule->text ? kinds[rule->kind].parse(rule) : rule_bad(rule, "it is empty");
	if (!err)
		rules[s->cnt++] = *rule;
	return err;
}

/* Add each condition of a list. *wrong: the one that failed, for free_rule(). */
static int add_all(struct proc_filter *s, enum proc_filter_kind kind, bool exclude,
		   const char *text, struct proc_filter_rule *wrong)
{
	size_t len;
	int err;

	for (;; text += len + 1) {
		len = kinds[kind].is_list ? strcspn(text, ",") : strlen(text);
		*wrong = (struct proc_filter_rule){ .kind = kind, .exclude = exclude };
		err = add_one(s, wrong, text, len);
		if (err || !text[len])
			return err;
	}
}

int proc_filter_try(struct proc_filter *s, enum proc_filter_kind kind, bool exclude,
		    const char *text, const char **remedy)
{
	struct proc_filter_rule wrong;
	int err = add_all(s, kind, exclude, text, &wrong);

	if (!err)
		return 0;
	*remedy = wrong.remedy;
	free_rule(&wrong);
	return err;
}

int proc_filter_add(struct proc_filter *s, enum proc_filter_kind kind, bool exclude,
		    const char *text)
{
	struct proc_filter_rule wrong;
	char shown[SHOWN_MAX];
	int err = add_all(s, kind, exclude, text, &wrong);

	if (!err)
		return 0;
	if (err == -EINVAL)
		log_error("invalid --%s%s '%s': %s", exclude ? "exclude-" : "", kinds[kind].name,
			  escape_text(wrong.text, strlen(wrong.text), shown, sizeof(shown)),
			  wrong.remedy);
	free_rule(&wrong);
	return err;
}

static int set_condition(const struct setting *s, void *field, const char *text,
			 struct setting_why *why)
{
	const struct proc_filter_place *place = s->data;

	return proc_filter_add(field, place->kind, place->exclude, text);
}

const struct setting_type proc_filter_setting = { .set = set_condition };

void proc_filter_free(struct proc_filter *s)
{
	size_t i;

	for (i = 0; i < s->cnt; i++)
		free_rule(&s->rules[i]);
	free(s->rules);
	memset(s, 0, sizeof(*s));
}

uint32_t proc_filter_kinds(const struct proc_filter *s, bool exclude)
{
	uint32_t found = 0;
	size_t i;

	for (i = 0; i < s->cnt; i++)
		if (s->rules[i].exclude == exclude)
			found |= 1u << s->rules[i].kind;
	return found;
}

int proc_filter_text(const struct proc_filter *s, struct buf *out)
{
	char head[64];
	int err = 0;
	size_t i;

	for (i = 0; !err && i < s->cnt; i++) {
		const struct proc_filter_rule *rule = &s->rules[i];

		err = buf_add(out, head, (size_t)snprintf(head, sizeof(head), " --%s%s ",
							  rule->exclude ? "exclude-" : "",
							  kinds[rule->kind].name));
		if (!err)
			err = buf_add(out, rule->text, strlen(rule->text));
	}
	if (!err && s->min_age_s > 0)
		err = buf_add(out, head, (size_t)snprintf(head, sizeof(head), " --min-age %g",
							  s->min_age_s));
	if (!err && s->children != CHILDREN_DEFAULT)
		err = buf_add(out, head, (size_t)snprintf(head, sizeof(head), " --%schildren",
							  s->children == CHILDREN_NO ? "no-" : ""));
	return err;
}

/* ---- verdicts ---- */

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct cgroup_facts {
	uint32_t hierarchy;
	const char *path;
	const struct container *c;
};

static bool cgroup_fits(const struct proc_filter_rule *rule, const struct cgroup_facts *f)
{
	switch (rule->kind) {
	case FILTER_CONTAINER:
		return container_matches(f->c, rule->text);
	case FILTER_POD:
		return container_matches_pod(f->c, rule->text);
	case FILTER_CGROUP:
		return !strcmp(rule->pattern, f->path) &&
		       (rule->number == FILTER_ANY_HIERARCHY || rule->number == f->hierarchy);
	default:
		return !fnmatch(rule->pattern, last_component(f->path), 0);
	}
}

static uint32_t bit_of(struct proc_filter_rule *rule)
{
	rule->met = true;
	return rule->exclude ? FILTER_EXCLUDED : 1u << rule->kind;
}

uint32_t proc_filter_judge_cgroup(struct proc_filter *s, uint32_t hierarchy, const char *path,
				  const struct container *c)
{
	const struct cgroup_facts facts = { hierarchy, path, c };
	uint32_t bits = 0;
	size_t i;

	for (i = 0; i < s->cnt; i++)
		if (1u << s->rules[i].kind & FILTER_CGROUP_KINDS &&
		    cgroup_fits(&s->rules[i], &facts))
			bits |= bit_of(&s->rules[i]);
	return bits;
}

static uint32_t judge_number(struct proc_filter *s, enum proc_filter_kind kind, uint32_t number)
{
	uint32_t bits = 0;
	size_t i;

	for (i = 0; i < s->cnt; i++)
		if (s->rules[i].kind == kind && s->rules[i].number == number)
			bits |= bit_of(&s->rules[i]);
	return bits;
}

uint32_t proc_filter_judge_uid(struct proc_filter *s, uint32_t uid)
{
	return judge_number(s, FILTER_UID, uid);
}

uint32_t proc_filter_judge_pid(struct proc_filter *s, pid_t tgid)
{
	return judge_number(s, FILTER_PID, (uint32_t)tgid);
}

uint32_t proc_filter_judge_comm(struct proc_filter *s, const char *comm)
{
	uint32_t bits = 0;
	size_t i;

	for (i = 0; i < s->cnt; i++)
		if (s->rules[i].kind == FILTER_COMM && !fnmatch(s->rules[i].pattern, comm, 0))
			bits |= bit_of(&s->rules[i]);
	return bits;
}

/* A glob without "/" is compared with the file name. */
uint32_t proc_filter_judge_exe(struct proc_filter *s, const char *path)
{
	uint32_t bits = 0;
	size_t i;

	for (i = 0; i < s->cnt; i++) {
		struct proc_filter_rule *rule = &s->rules[i];

		if (rule->kind == FILTER_EXE &&
		    !fnmatch(rule->text, strchr(rule->text, '/') ? path : last_component(path), 0))
			bits |= bit_of(rule);
	}
	return bits;
}

bool proc_filter_meets(const struct proc_filter *s, uint32_t mask, uint32_t bits)
{
	uint32_t needed = proc_filter_kinds(s, false) & mask & ~(1u << FILTER_PID);

	return !(bits & FILTER_EXCLUDED) && (bits & needed) == needed;
}
