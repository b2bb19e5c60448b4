// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* record_control.c - a recording that another program controls, see record_parts.h. */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/output.h"
#include "capture/capture.h"
#include "commands/record_parts.h"

int record_control_begun(struct capture *capture)
{
	printf("recording\n");
	/* Not possible with a regular file or /dev/null, which are always readable. */
	capture_wake_for(capture, STDIN_FILENO);
	return output_flush_stdout();
}

bool record_control_ended(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&in, 1, 0) > 0;	/* also an end, an error, a closed descriptor */
}
