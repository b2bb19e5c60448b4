# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The programs of the zoo: one row each. What they run is in programs/.

In a command `python` is the row's interpreter, {port} a free port, {packages} where PyPI's packages
are; it runs in a new directory that has a copy of programs/.
"""
from dataclasses import dataclass

BOOKWORM, TRIXIE, SID = "bookworm", "trixie", "sid"
# What the roots of these suites have beside the Pythons of `make interpreters`.
DEBIAN = {
    BOOKWORM: ("apache2", "gdb", "libapache2-mod-wsgi-py3", "postgresql-plpython3-15",
               "uwsgi-plugin-python3", "vim-nox"),
    TRIXIE: ("apache2", "gdb", "libapache2-mod-wsgi-py3", "postgresql-plpython3-17",
             "uwsgi-plugin-python3", "vim-nox"),
    SID: ("python3-torch",),
}


@dataclass(frozen=True)
class Program:
    name: str
    python: str             # "3.12", the name of an interpreter (ft-3.13), or one of DEBIAN
    packages: str           # of PyPI, with their versions; of Debian, to say their versions
    command: str
    url: str = ""           # of a server: it is asked for this path REQUESTS times, then ended
    under: str = ""         # a function of the program that is in each stack with a counted one
    before: str = ""        # a command that makes something; not recorded
    env: tuple = ()


GUNICORN = "python -m gunicorn --bind 127.0.0.1:{port} --log-level error "
UVICORN = "python -m uvicorn --port {port} --log-level error "
UWSGI = ("uwsgi --plugin python3 --http-socket 127.0.0.1:{port} --master --die-on-term "
         "--disable-logging --processes 2 --threads 2 --wsgi-file wsgi.py")
APACHE = "apache2 -f {out}/apache.conf -DFOREGROUND"
ALONE = "python alone.py"

PROGRAMS = (
    # servers
    Program("gunicorn, Flask", "3.11", "gunicorn==23.0.0 flask==3.1.2",
            GUNICORN + "-w 2 web_flask:application", "/", "dispatch_request"),
    Program("gunicorn's threads, Django", "3.12", "gunicorn==23.0.0 django==5.2.8",
            GUNICORN + "-w 2 --threads 4 web_django:application", "/", "get_response"),
    Program("Django's runserver", "3.13", "django==5.2.8",
            "python web_django.py runserver --noreload {port}", "/", "get_response"),
    Program("gunicorn's gevent workers", "3.11", "gunicorn==23.0.0 gevent==25.9.1",
            GUNICORN + "-w 2 -k gevent wsgi:application", "/", "application"),
    Program("gevent's WSGI server", "3.13", "gevent==25.9.1", "python wsgi.py gevent {port}",
            "/", "application"),
    Program("eventlet's WSGI server", "3.12", "eventlet==0.40.3",
            "python wsgi.py eventlet {port}", "/", "application"),
    Program("waitress", "3.10", "waitress==3.0.2", "python wsgi.py waitress {port}", "/",
            "application"),
    Program("cheroot", "3.9", "cheroot==10.0.1", "python wsgi.py cheroot {port}", "/",
            "application"),
    Program("uvicorn, uvloop, FastAPI", "3.12", "uvicorn==0.38.0 uvloop==0.22.1 fastapi==0.121.2",
            UVICORN + "--loop uvloop web_fastapi:application", "/", "index"),
    Program("uvicorn, FastAPI's pool", "3.13", "uvicorn==0.38.0 fastapi==0.121.2",
            UVICORN + "--loop asyncio web_fastapi:application", "/pool", "in_pool"),
    Program("Hypercorn, Starlette", "3.11", "hypercorn==0.18.0 starlette==0.50.0",
            "python -m hypercorn -b 127.0.0.1:{port} web_starlette:application", "/", "index"),
    Program("aiohttp", "3.12", "aiohttp==3.13.2", "python web_aiohttp.py {port}", "/", "index"),
    Program("Tornado", "3.13", "tornado==6.5.2", "python web_tornado.py {port}", "/", "get"),
    Program("Twisted", "3.10", "twisted==25.5.0", "python web_twisted.py {port}", "/",
            "render_GET"),
    Program("Sanic", "3.12", "sanic==25.3.0", "python web_sanic.py {port}", "/", "index"),
    Program("Apache, mod_wsgi", BOOKWORM, "apache2 libapache2-mod-wsgi-py3", APACHE, "/",
            "application"),
    Program("Apache, mod_wsgi (3.13)", TRIXIE, "apache2 libapache2-mod-wsgi-py3", APACHE, "/",
            "application"),
    Program("uWSGI", BOOKWORM, "uwsgi-plugin-python3", UWSGI, "/", "application"),
    Program("uWSGI (3.13)", TRIXIE, "uwsgi-plugin-python3", UWSGI, "/", "application"),
    Program("gRPC", "3.12", "grpcio==1.76.0", "python callbacks.py grpc"),
    Program("requests, http.server", "3.11", "requests==2.32.5", "python callbacks.py requests",
            under="do_GET"),

    # tasks and pools
    Program("Celery", "3.12", "celery==5.5.3", "python celery_app.py", under="task"),
    Program("multiprocessing.Pool", "3.13", "", "python pools.py fork", under="worker"),
    Program("ProcessPoolExecutor, spawn", "3.9", "", "python pools.py spawn",
            under="_process_worker"),
    Program("ProcessPoolExecutor, forkserver", "3.13", "", "python pools.py forkserver",
            under="_process_worker"),
    Program("joblib", "3.12", "joblib==1.5.2", "python pools.py joblib"),
    Program("Dask's threads", "3.11", "dask==2025.11.0", "python pools.py dask"),
    Program("threads", "3.10", "", "python pools.py threads", under="_worker"),
    Program("threads without a GIL", "ft-3.13", "", "python pools.py threads", under="_worker"),
    Program("asyncio", "3.13", "", "python pools.py asyncio"),
    Program("Trio", "3.12", "trio==0.32.0", "python pools.py trio", under="task"),
    Program("gevent's switches", "3.13", "gevent==25.9.1", "python switches.py gevent",
            under="steps"),
    Program("eventlet's switches", "3.12", "eventlet==0.40.3", "python switches.py eventlet",
            under="steps"),
    Program("greenlet's switches", "3.11", "greenlet==3.2.4", "python switches.py greenlet",
            under="steps"),

    # arrays, and threads that have no Python
    Program("NumPy", "3.12", "numpy==2.3.4", "python array_numpy.py"),
    Program("SciPy", "3.13", "scipy==1.16.3", "python array_scipy.py"),
    Program("pandas", "3.12", "pandas==2.3.3", "python array_pandas.py"),
    Program("scikit-learn", "3.11", "scikit-learn==1.7.2", "python array_sklearn.py",
            env=(("OMP_NUM_THREADS", "2"), ("OMP_WAIT_POLICY", "PASSIVE"))),
    Program("Numba", "3.12", "numba==0.62.1", "python array_numba.py",
            env=(("NUMBA_NUM_THREADS", "2"),)),
    Program("Polars", "3.13", "polars==1.35.2", "python callbacks.py polars"),
    Program("DuckDB", "3.12", "duckdb==1.4.1 numpy==2.3.4", "python callbacks.py duckdb"),

    # compiled code that calls Python
    Program("Cython", "3.11", "cython==3.2.1 setuptools==80.9.0", "python cython_run.py",
            under="main", before="python -m Cython.Build.Cythonize -i -3 cython_part.pyx"),
    Program("cffi", "3.9", "cffi==2.0.0", "python callbacks.py cffi", under="compare"),
    Program("lxml", "3.13", "lxml==6.0.2", "python callbacks.py lxml", under="with_lxml"),
    Program("pydantic", "3.12", "pydantic==2.12.4", "python callbacks.py pydantic",
            under="checked"),
    Program("SQLAlchemy, sqlite3", "3.11", "sqlalchemy==2.0.44", "python callbacks.py sqlalchemy",
            under="execute"),
    Program("mypy, compiled by mypyc", "3.13", "mypy==1.18.2",
            "python -m mypy --cache-dir=/dev/null mypy_subject.py", under="called"),

    # tools
    Program("Jinja2", "3.10", "jinja2==3.1.6", "python callbacks.py jinja2", under="render"),
    Program("SymPy", "3.12", "sympy==1.14.0", "python callbacks.py sympy"),
    Program("Matplotlib", "3.13", "matplotlib==3.10.7", "python callbacks.py matplotlib"),
    Program("pytest", "3.12", "pytest==9.0.1", "python -m pytest -q -p no:cacheprovider checks.py",
            under="pytest_cmdline_main"),
    Program("IPython", "3.13", "ipython==9.7.0",
            "python -m IPython --no-confirm-exit --colors=NoColor alone.py", under="safe_execfile"),
    Program("Jupyter's kernel", "3.12", "ipykernel==7.1.0", "python notebook.py",
            under="execute_request"),
    Program("Scrapy", "3.11", "scrapy==2.13.3 twisted==25.5.0",
            "python -m scrapy runspider spider.py"),
    Program("Ansible", "3.12", "ansible-core==2.20.0",
            "python {packages}/bin/ansible-playbook -i localhost, -c local playbook.yml"),

    # Python in other programs, and programs with their Python
    Program("PostgreSQL, PL/Python", BOOKWORM, "postgresql-plpython3-15", "sh postgres.sh"),
    Program("PostgreSQL, PL/Python (3.13)", TRIXIE, "postgresql-plpython3-17", "sh postgres.sh"),
    Program("gdb", BOOKWORM, "gdb", "gdb -nx -q -batch -x alone.py", under="run"),
    Program("gdb (3.13)", TRIXIE, "gdb", "gdb -nx -q -batch -x alone.py", under="run"),
    Program("Vim", BOOKWORM, "vim-nox", "vim -es -u NONE -c 'py3file alone.py' -c qa!",
            under="run"),
    Program("Vim (3.13)", TRIXIE, "vim-nox", "vim -es -u NONE -c 'py3file alone.py' -c qa!",
            under="run"),
    Program("PyInstaller", "3.12", "pyinstaller==6.16.0", "dist/alone", under="run",
            before="python -m PyInstaller --onefile --log-level ERROR alone.py"),
    Program("Nuitka", "3.11", "nuitka==2.8.4", "./alone.bin", under="run",
            before="python -m nuitka --quiet --assume-yes-for-downloads --follow-imports "
                   "--output-filename=alone.bin alone.py"),
    Program("CPython's JIT", "sid-3.14", "", ALONE, under="run", env=(("PYTHON_JIT", "1"),)),
    Program("CPython's JIT (3.15)", "sid-3.15", "", ALONE, under="run", env=(("PYTHON_JIT", "1"),)),
)
