-- The ten functions of each service and version with the most CPU time of their own in the week
-- that begins on `monday`, and their part of the service in the week before, in any version.
WITH days AS (
  SELECT service, service_version,
    function, file,
    day >= {monday:Date} AS is_now, sum(value / 1e9) AS seconds
  FROM samples
  WHERE type = 'cpu' AND day BETWEEN {monday:Date} - 7 AND {monday:Date} + 6
  GROUP BY ALL
), now AS (
  SELECT service, service_version, function, file, seconds,
    100 * seconds / sum(seconds) OVER (PARTITION BY service, service_version) AS percent,
    row_number() OVER (PARTITION BY service, service_version
                       ORDER BY round(seconds, 3) DESC, function, file) AS place
  FROM days WHERE is_now
), earlier AS (
  SELECT service, function, file, sum(seconds) AS every
  FROM days WHERE NOT is_now
  GROUP BY service, function, file
), before AS (
  SELECT service, function, file, every,
    100 * every / sum(every) OVER (PARTITION BY service) AS percent
  FROM earlier
)
SELECT n.service, n.service_version, n.function, n.file, n.seconds, n.percent,
  b.every AS seconds_before, b.percent AS percent_before,
  n.percent - b.percent AS points
FROM now AS n LEFT JOIN before AS b
  ON n.service = b.service AND n.function = b.function AND n.file = b.file
WHERE n.place <= 10
ORDER BY n.service, n.service_version, n.place;
