// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sink.c - copies what sinks need of a profile after it has ended. See sink.h. */
#include "model/sink.h"

#include <stdlib.h>
#include <string.h>

#include "model/thread_names.h"

bool sink_meta_copy(struct profile_meta *to, const struct profile_meta *from)
{
	*to = *from;
	to->comm = from->comm ? strdup(from->comm) : NULL;
	to->platform = from->platform ? strdup(from->platform) : NULL;
	to->container = from->container ? strdup(from->container) : NULL;
	to->image = from->image ? strdup(from->image) : NULL;
	to->thread_names = thread_names_keep(from->thread_names);
	if (!to->comm == !from->comm && !to->platform == !from->platform &&
	    !to->container == !from->container && !to->image == !from->image)
		return true;
	sink_meta_free(to);
	return false;
}

void sink_meta_free(struct profile_meta *meta)
{
	free((char *)meta->comm);
	free((char *)meta->platform);
	free((char *)meta->container);
	free((char *)meta->image);
	thread_names_drop((struct thread_names *)meta->thread_names);
}
