// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_program_name.c - what programs are called, from their real command lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "telemetry/program_name.h"

/* In cmdline, "|" stands for NUL. Of /usr/bin/python3.11, whose comm is "python3". */
static const struct {
	const char *cmdline, *name;
} table[] = {
	{ "python3|script.py|", "script.py" },
	{ "python3|/srv/app/train.py|--epochs|3|", "train.py" },
	{ "/usr/bin/python3.11|-u|-O|./main.py|", "main.py" },
	{ "python3|-W|ignore|-X|dev|run.py|", "run.py" },
	{ "python3|-Wignore|-Xdev|run.py|", "run.py" },
	{ "python3|-bb|-Es|/opt/x/job.py|-m|other|", "job.py" },
	{ "python3|--check-hash-based-pycs|always|a.py|", "a.py" },
	{ "python3|--|-odd.py|", "-odd.py" },
	{ "python3|/srv/my scripts/a b.py|", "a b.py" },
	{ "python|manage.py|runserver|0.0.0.0:8000|", "manage.py" },
	{ "pypy3|bench.py|", "bench.py" },
	{ "/opt/conda/bin/python3.13t|free.py|", "free.py" },
	{ "python3-dbg|crash.py|", "crash.py" },
	/* packages, directories and archives */
	{ "python3|/srv/shop/__main__.py|", "shop" },
	{ "python3|/srv/shop/|", "shop" },
	{ "python3|/srv/app.pyz|serve|", "app.pyz" },
	{ "python3|/root/.pex/unzipped_pexes/1f2e/__main__.py|", "1f2e" },
	/* modules */
	{ "python3|-m|http.server|8000|", "http.server" },
	{ "python3|-m|pkg.mod|", "pkg.mod" },
	{ "python3|-m|pkg.__main__|", "pkg" },
	{ "python3|-mflask|run|", "flask" },
	{ "python3|-um|uvicorn|app:main|--port|80|", "uvicorn" },
	{ "/usr/bin/python3|-I|-m|ipykernel_launcher|-f|/tmp/k.json|", "ipykernel_launcher" },
	/* console scripts */
	{ "/usr/bin/python3|/usr/bin/gunicorn|-w|4|app:app|", "gunicorn" },
	{ "/app/.venv/bin/python|/app/.venv/bin/celery|-A|proj|worker|", "celery" },
	{ "/usr/local/bin/python3.12|/usr/local/bin/uvicorn|main:app|", "uvicorn" },
	{ "/usr/bin/python3|-u|/usr/bin/ansible-playbook|site.yml|", "ansible-playbook" },
	{ "/usr/bin/python3|/usr/bin/jupyter-lab|--no-browser|", "jupyter-lab" },
	{ "/usr/bin/python3|-s|/usr/sbin/firewalld|--nofork|", "firewalld" },
	/* titles */
	{ "gunicorn: worker [shop.wsgi:application]||||||", "gunicorn" },
	{ "[celeryd: celery@web1:MainProcess] -active- (worker -A proj)|", "celery" },
	{ "celeryd: celery@web1:ForkPoolWorker-1|", "celery" },
	{ "airflow scheduler -- DagFileProcessorManager|", "airflow" },
	{ "airflow task supervisor: ['airflow', 'tasks', 'run']|", "airflow" },
	{ "ray::IDLE|", "ray" },
	{ "ray::Trainer.step()|", "ray" },
	{ "/usr/bin/python3 /usr/bin/salt-minion MultiMinionProcessManager|", "salt-minion" },
	{ "/usr/bin/python3 -m proj.worker idle|", "proj.worker" },
	{ "uWSGI worker 3|", "uwsgi" },
	{ "odoo: WorkerHTTP 12|", "odoo" },
	{ "postgres-exporter:|", "postgres-exporter" },
	/* code */
	{ "python3|-c|import time; time.sleep(9)|", "python -c" },
	{ "python3|-Ic|pass|", "python -c" },
	{ "python3|-cpass|", "python -c" },
	{ "python3|-|", "python -" },
	{ "python3|-u|-|x|", "python -" },
	/* programs that run programs */
	{ "python3|-m|cProfile|-o|out.prof|/srv/job.py|", "job.py" },
	{ "python3|-m|cProfile|-s|time|-m|pkg.job|", "pkg.job" },
	{ "/usr/bin/python3|/usr/bin/coverage|run|--source|pkg|-m|pytest|tests|", "pytest" },
	{ "/usr/bin/python3|/usr/bin/coverage|report|", "coverage" },
	{ "python3|-m|debugpy|--listen|5678|--wait-for-client|app.py|", "app.py" },
	{ "python3|-m|pdb|-c|continue|app.py|", "app.py" },
	{ "python3|-m|pdb|", "pdb" },
	{ "python3|-m|coverage|run|-m|cProfile|-m|pdb|x.py|", "x.py" },
	{ "/lib64/ld-linux-x86-64.so.2|--library-path|/x/lib|/usr/bin/python3|tool.py|",
	  "tool.py" },
	/* not Python itself */
	{ "/usr/bin/uwsgi|--ini|app.ini|", "uwsgi" },
};

/* The same where the executable and the comm count. */
static const struct {
	const char *cmdline, *name, *exe, *comm;
} others[] = {
	{ "python3|.|", "python", "/usr/bin/python3.11", "python3" },
	{ "gunicorn: master [app]|", "gunicorn", "/usr/bin/python3.11", "gunicorn" },
	{ "/usr/sbin/apache2|-k|start|", "apache2", "/usr/sbin/apache2", "apache2" },
	{ "myservice|script.py|", "myservice", "/usr/bin/python3.11", "python3" },
	{ "/opt/My App/bin/tool|", "tool", "/opt/My App/bin/tool", "tool" },
	{ "python3|", "python", "/usr/bin/python3.11", "python3" },
	{ "python3|-q|", "python", "/usr/bin/python3.11", "python3" },
	{ "python3|", "indexer", "/usr/bin/python3.11", "indexer" },
	{ "", "tool", "/opt/bin/tool (deleted)", "python3" },
	{ "", "worker", "", "worker" },
	{ "", "python", "", "" },
	{ "||||", "python", "/usr/bin/python3", "python3" },
	{ "-python3|", "python", "/usr/bin/python3", "python3" },
};

/* In memory of its own size, for the sanitizers. */
static bool name_of(const char *text, const char *exe, const char *comm,
		    char out[PROGRAM_NAME_BYTES])
{
	size_t len = strlen(text), i;
	char *cmdline = malloc(len + !len);
	bool helper;

	for (i = 0; i < len; i++)
		cmdline[i] = text[i] == '|' ? '\0' : text[i];
	helper = program_name(cmdline, len, exe ? exe : "/usr/bin/python3.11",
			      comm ? comm : "python3", out);
	free(cmdline);
	return helper;
}

static void assert_called(const char *cmdline, const char *exe, const char *comm,
			  const char *wanted)
{
	char name[PROGRAM_NAME_BYTES];
	bool helper = name_of(cmdline, exe, comm, name);

	if (strcmp(name, wanted))
		fail_msg("'%s' is called '%s', not '%s'", cmdline, name, wanted);
	assert_false(helper);
}

static void test_names(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		assert_called(table[i].cmdline, NULL, NULL, table[i].name);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		assert_called(others[i].cmdline, others[i].exe, others[i].comm, others[i].name);
}

static void test_helpers(void **state)
{
	static const struct { const char *cmdline, *name; } helpers[] = {
		{ "python3|-c|from multiprocessing.spawn import spawn_main; spawn_main(7)|"
		  "--multiprocessing-fork|", "multiprocessing" },
		{ "python3|-s|-c|from multiprocessing.resource_tracker import main;main(6)|",
		  "multiprocessing" },
		{ "python3|-m|joblib.externals.loky.backend.popen_loky_posix|--pipe|9|",
		  "joblib.externals.loky.backend.popen_loky_posix" },
		{ "python3|-c|from billiard.semaphore_tracker import main;main(6)|", "billiard" },
	};
	char name[PROGRAM_NAME_BYTES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(helpers); i++) {
		assert_true(name_of(helpers[i].cmdline, NULL, NULL, name));
		assert_string_equal(name, helpers[i].name);
	}
	assert_false(name_of("python3|-m|multiprocessing_tools|", NULL, NULL, name));
}

/* Names are cut, and clean; more arguments than are looked at do no harm. */
static void test_hostile(void **state)
{
	char name[PROGRAM_NAME_BYTES], text[3 * PROGRAM_CMDLINE_BYTES], shown[64];
	size_t i;

	name_of("python3|\x1b[31m\xff.py|", NULL, NULL, name);
	assert_string_equal(name, "\\x1b[31m\\xff.py");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	name_of(text, NULL, NULL, name);
	assert_int_equal(strlen(name), PROGRAM_NAME_BYTES - 1);
	for (i = 0; i < sizeof(text) - 1; i++)
		text[i] = "-m|"[i % 3];
	name_of(text, NULL, NULL, name);
	assert_string_equal(name, "m");
	memcpy(text, "python3|", 8);
	name_of(text, NULL, NULL, name);
	assert_true(*name);
	memset(text, '|', sizeof(text) - 1);
	name_of(text, NULL, NULL, name);
	assert_string_equal(name, "python");
	memset(text + 100, ' ', 4000);
	memset(text, ' ', 100);
	name_of(text, NULL, NULL, name);
	assert_string_equal(name, "python");
	program_cmdline("a\0b c\0\0", 7, shown, sizeof(shown));
	assert_string_equal(shown, "a b c");
	program_cmdline(NULL, 0, shown, sizeof(shown));
	assert_string_equal(shown, "");
	program_cmdline("a\0b c\0\0", 7, shown, 4);
	assert_string_equal(shown, "a b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_helpers),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
