// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_ctl.c - how a running agent answers `tachbpf agent ctl`. See agent_state.h. */
#include <stdlib.h>
#include <string.h>

#include "agent/agent_state.h"
#include "base/json.h"
#include "base/time.h"
#include "base/util.h"

static int ctl_reload(struct agent *a, const struct ctl_request *r, struct buf *out)
{
	static const char no[] = "configuration not reloaded: see the agent's log\n";
	static const char denied[] = "only root may reload the configuration\n";

	if (r->limited) {
		buf_add(out, denied, strlen(denied));
		return EXIT_FAILURE;
	}
	if (agent_reload(a))
		return EXIT_SUCCESS;
	buf_add(out, no, strlen(no));
	return EXIT_FAILURE;
}

int agent_obey(void *ctx, struct ctl_request *r, struct buf *out)
{
	struct agent *a = ctx;
	uint64_t now = now_ns();

	switch (r->what) {
	case CTL_RELOAD:
		return ctl_reload(a, r, out);
	case CTL_BURST:
		return agent_rate_burst(a->rate, r, now, out);
	case CTL_BURST_STOP:
		return agent_rate_burst_stop(a->rate, out);
	case CTL_STATUS:
		return agent_status(a, r->json, out);
	}
	return EXIT_FAILURE;
}
