/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * otlp_fields.h - the numbers of the fields of OTLP's profiles that we know (opentelemetry-proto,
 * opentelemetry/proto/profiles/v1development/profiles.proto, 2026-08;
 * tests/unit/telemetry/test_otlp.py reads our output with the published package).
 */
#ifndef TACHBPF_OTLP_FIELDS_H
#define TACHBPF_OTLP_FIELDS_H

/* ExportProfilesServiceRequest, which has the same fields as ProfilesData. */
enum { REQUEST_RESOURCE_PROFILES = 1, REQUEST_DICTIONARY = 2 };

/*
 * ProfilesDictionary; also the numbers of our tables. Entry 0 of each is its zero value; that of a
 * link has both ids, of zeros.
 */
enum otlp_table {
	TABLE_MAPPING = 1,
	TABLE_LOCATION = 2,
	TABLE_FUNCTION = 3,
	TABLE_LINK = 4,
	TABLE_STRING = 5,
	TABLE_ATTRIBUTE = 6,
	TABLE_STACK = 7,
	TABLE_CNT
};

enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE_PROFILES = 2,
       RESOURCE_PROFILES_SCHEMA_URL = 3 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2, SCOPE_PROFILES_SCHEMA_URL = 3 };
enum { RESOURCE_ATTRIBUTES = 1, RESOURCE_DROPPED_ATTRIBUTES = 2, RESOURCE_ENTITY_REFS = 3 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2, KEY_VALUE_KEY_STRINDEX = 3 };
enum { ANY_VALUE_STRING = 1, ANY_VALUE_BOOL = 2, ANY_VALUE_INT = 3, ANY_VALUE_DOUBLE = 4,
       ANY_VALUE_ARRAY = 5, ANY_VALUE_BYTES = 7, ANY_VALUE_STRINDEX = 8 };
enum { ARRAY_VALUE_VALUES = 1 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ID = 7,
	PROFILE_ATTRIBUTES = 11,
};
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_LINK = 3, SAMPLE_VALUES = 4,
       SAMPLE_TIMESTAMPS = 5 };
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { STACK_LOCATIONS = 1 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS = 2, LOCATION_LINES = 3, LOCATION_ATTRIBUTES = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME = 2, FUNCTION_FILENAME = 3,
       FUNCTION_START_LINE = 4 };
enum { MAPPING_FILENAME = 4, MAPPING_ATTRIBUTES = 5 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2, ATTRIBUTE_UNIT = 3 };
enum { LINK_TRACE_ID = 1, LINK_SPAN_ID = 2 };

#define OTLP_PROFILE_ID_BYTES 16

#endif
