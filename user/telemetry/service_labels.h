/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * service_labels.h - a service's attributes together with the labels of the configuration, as
 * servers get them. They are joined when a window is sent, so that a reload applies at once. Of two
 * with one key, the label counts, unless processes are trusted (service_config).
 */
#ifndef TACHBPF_SERVICE_LABELS_H
#define TACHBPF_SERVICE_LABELS_H

#include "telemetry/otlp.h"
#include "telemetry/service.h"

#define SERVICE_ATTRIBUTES_MAX (2 * ATTRS_MAX + 1)

/*
 * Fills in all attributes, "service.name" first; service NULL: SERVICE_OTHER_NAME. Returns how
 * many. They point into the service and the configuration.
 */
uint32_t service_attributes(const struct service *service, const struct service_config *config,
			    struct otlp_attribute out[SERVICE_ATTRIBUTES_MAX]);
/* The text of one of them; "": there is none, or it is a number. */
const char *service_attribute(const struct service *service, const struct service_config *config,
			      const char *key);

#endif
