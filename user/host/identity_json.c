// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* identity_json.c - a process' identity as JSON, for session.json and `tachbpf ps`. */
#include "base/json.h"
#include "base/util.h"
#include "host/identity.h"

static const char *or_null(const char *s)
{
	return *s ? s : NULL;
}

void container_json(struct json *j, const struct container *c)
{
	char label[CONTAINER_LABEL_BYTES];
	const struct {
		const char *key, *value;
	} fields[] = {
		{ "label", label }, { "runtime", c ? c->runtime : "" }, { "id", c ? c->id : "" },
		{ "name", c ? c->name : "" }, { "image", c ? c->image : "" },
		{ "pod", c ? c->pod : "" }, { "pod_namespace", c ? c->pod_namespace : "" },
		{ "pod_uid", c ? c->pod_uid : "" }, { "qos", c ? c->qos : "" },
	};
	size_t i;

	if (c && container_is(c)) {
		container_label(c, label);
		json_object(j, "container");
		for (i = 0; i < ARRAY_SIZE(fields); i++)
			json_string(j, fields[i].key, or_null(fields[i].value));
		json_object_end(j);
	} else {
		json_null(j, "container");
	}
	json_string(j, "unit", c ? or_null(c->unit) : NULL);
}

void identity_json(struct json *j, const struct identity *id, pid_t tgid)
{
	json_uint(j, "ns_pid", id->ns_tgid ? id->ns_tgid : tgid);
	if (id->uid == IDENTITY_NO_UID)
		json_null(j, "uid");
	else
		json_uint(j, "uid", id->uid);
}
