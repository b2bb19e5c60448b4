-- Adds the Parquet files that match `parquet`, such as /srv/profiles/day=2026-11-30/*/*.parquet.
-- From an object store: s3(url, 'Parquet') instead of file().
INSERT INTO samples
SELECT time, ifNull(duration_ns, 0), day, service, ifNull(service_namespace, ''),
  ifNull(service_version, ''), ifNull(environment, ''), ifNull(host, ''), ifNull(team, ''),
  type, unit, value, samples, ifNull(function, '<no Python frame>'), ifNull(file, ''),
  ifNull(line, 0), functions, files, arrayMap(x -> ifNull(x, 0), lines)
FROM file({parquet:String}, 'Parquet')
-- The files have all columns; in names of directories a service is percent-encoded.
SETTINGS use_hive_partitioning = 0;
