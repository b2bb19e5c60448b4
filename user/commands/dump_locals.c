// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* dump_locals.c - see dump_locals.h. */
#include "commands/dump_locals.h"

#include <stdio.h>

#include "commands/dump_words.h"
#include "look/look_locals.h"

static void print_local(const struct look_local *l)
{
	printf("            ");
	dump_text_escaped(l->name, l->name_len);
	printf(": ");
	dump_text_escaped(l->value, l->value_len);
	printf("\n");
}

static void print_list(const struct look_frame_variables *v, bool arguments, const char *title)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < v->cnt; i++) {
		if (v->list[i].argument != arguments)
			continue;
		if (!any)
			printf("        %s:\n", title);
		any = true;
		print_local(&v->list[i]);
	}
}

void dump_text_locals(const struct look_thread *t, uint32_t i)
{
	if (!t->variables)
		return;
	print_list(&t->variables->frames[i], true, "Arguments");
	print_list(&t->variables->frames[i], false, "Locals");
}

void dump_text_locals_state(const struct look_thread *t, bool asked)
{
	if (!asked)
		return;
	if (!t->variables)
		printf(", variables not read");
	else if (!t->variables->steady)
		printf(", variables read while it ran");
}

void dump_json_locals(struct json *j, const struct look_thread *t, uint32_t i)
{
	const struct look_frame_variables *v = t->variables ? &t->variables->frames[i] : NULL;
	uint32_t n;

	if (!v || !v->list) {
		json_null(j, "locals");
		return;
	}
	json_array(j, "locals");
	for (n = 0; n < v->cnt; n++) {
		json_object(j, NULL);
		json_string_n(j, "name", v->list[n].name, v->list[n].name_len);
		json_string_n(j, "value", v->list[n].value, v->list[n].value_len);
		json_bool(j, "argument", v->list[n].argument);
		json_object_end(j);
	}
	json_array_end(j);
}

void dump_json_locals_state(struct json *j, const struct look_thread *t)
{
	if (t->variables)
		json_bool(j, "locals_steady", t->variables->steady);
	else
		json_null(j, "locals_steady");
}
