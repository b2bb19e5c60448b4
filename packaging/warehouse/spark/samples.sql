-- samples: all Parquet files below the directory `parquet`, which may be in an object store.
CREATE OR REPLACE TEMPORARY VIEW samples (
  time TIMESTAMP, duration_ns BIGINT, day DATE, service STRING, service_namespace STRING,
  service_version STRING, environment STRING, host STRING, team STRING, type STRING, unit STRING,
  value BIGINT, samples BIGINT, function STRING, file STRING, line INT,
  functions ARRAY<STRING>, files ARRAY<STRING>, lines ARRAY<INT>
) USING parquet OPTIONS (path '${parquet}');
