/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * resource_variable.h - the value of OTEL_RESOURCE_ATTRIBUTES: "key=value,key=value", with
 * percent-encoded keys and values (OpenTelemetry specification, resource/sdk.md; the W3C's baggage
 * header without its properties). Hostile. Pure, no allocation.
 */
#ifndef TACHBPF_RESOURCE_VARIABLE_H
#define TACHBPF_RESOURCE_VARIABLE_H

#include "telemetry/attrs.h"

/*
 * Adds the variable's attributes to a. As in the SDK for Python, blanks around keys and values are
 * ignored, a "%" that is no code stays, and a pair without "=" or without a key is left out and
 * counted as dropped.
 */
void resource_variable_read(const char *text, struct attrs *a);

#endif
