-- The functions whose part of their service's CPU time rose by more than `points` percentage points
-- and `seconds` seconds, from the week before to the week that begins on `monday`.
WITH days AS (
  SELECT service, coalesce(function, '<no Python frame>') AS function, coalesce(file, '') AS file,
    sum(CASE WHEN day < CAST(:monday AS DATE) THEN value / 1e9 ELSE 0 END) AS seconds_before,
    sum(CASE WHEN day < CAST(:monday AS DATE) THEN 0 ELSE value / 1e9 END) AS seconds_now
  FROM samples
  WHERE type = 'cpu' AND day BETWEEN CAST(:monday AS DATE) - 7 AND CAST(:monday AS DATE) + 6
  GROUP BY ALL
), parts AS (
  SELECT *,
    100 * seconds_before / nullif(sum(seconds_before) OVER (PARTITION BY service), 0) AS percent_before,
    100 * seconds_now / nullif(sum(seconds_now) OVER (PARTITION BY service), 0) AS percent_now
  FROM days
)
-- A service that did not run in one of the weeks has no part then, and no regression.
SELECT service, function, file, seconds_before, seconds_now, percent_before, percent_now,
  percent_now - percent_before AS points
FROM parts
WHERE percent_now - percent_before > :points
  AND seconds_now - seconds_before > :seconds
ORDER BY round(seconds_now - seconds_before, 3) DESC, service, function, file;
