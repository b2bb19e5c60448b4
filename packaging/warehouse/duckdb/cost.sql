-- What each team and service used from `first_day` to `last_day`: CPU seconds, and CPUs that were
-- busy all the time.
WITH services AS MATERIALIZED (
  SELECT coalesce(team, '') AS team, service, sum(value / 1e9) AS cpu_seconds,
    count(DISTINCT host) AS hosts
  FROM samples
  WHERE type = 'cpu' AND day BETWEEN getvariable('first_day')::DATE AND getvariable('last_day')::DATE
  GROUP BY ALL
)
SELECT team, service, cpu_seconds,
  cpu_seconds / (86400 * (getvariable('last_day')::DATE - getvariable('first_day')::DATE + 1)) AS cores,
  100 * cpu_seconds / sum(cpu_seconds) OVER () AS percent, hosts
FROM services
ORDER BY round(cpu_seconds, 3) DESC, team, service;
