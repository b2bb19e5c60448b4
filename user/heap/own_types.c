// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* own_types.c - see own_types.h. */
#include "heap/own_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/*
 * Modules of the standard library, 3.6 to 3.15 (sys.stdlib_module_names, before 3.10 the library's
 * index), except those that begin with "_"; sorted by their bytes.
 */
static const char *const modules[] = {
	"abc", "aifc", "annotationlib", "antigravity", "argparse", "array", "ast", "asynchat",
	"asyncio", "asyncore", "atexit", "audioop", "base64", "bdb", "binascii", "binhex", "bisect",
	"builtins", "bz2", "cProfile", "calendar", "cgi", "cgitb", "chunk", "cmath", "cmd", "code",
	"codecs", "codeop", "collections", "colorsys", "compileall", "compression", "concurrent",
	"configparser", "contextlib", "contextvars", "copy", "copyreg", "crypt", "csv", "ctypes",
	"curses", "dataclasses", "datetime", "dbm", "decimal", "difflib", "dis", "distutils",
	"doctest", "dummy_threading", "email", "encodings", "ensurepip", "enum", "errno",
	"faulthandler", "fcntl", "filecmp", "fileinput", "fnmatch", "formatter", "fractions",
	"ftplib", "functools", "gc", "genericpath", "getopt", "getpass", "gettext", "glob",
	"graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "html", "http", "idlelib", "imaplib",
	"imghdr", "imp", "importlib", "inspect", "io", "ipaddress", "itertools", "json", "keyword",
	"lib2to3", "linecache", "locale", "logging", "lzma", "macpath", "macurl2path", "mailbox",
	"mailcap", "marshal", "math", "mimetypes", "mmap", "modulefinder", "msilib", "msvcrt",
	"multiprocessing", "netrc", "nis", "nntplib", "nt", "ntpath", "nturl2path", "numbers",
	"opcode", "operator", "optparse", "os", "ossaudiodev", "parser", "pathlib", "pdb", "pickle",
	"pickletools", "pipes", "pkgutil", "platform", "plistlib", "poplib", "posix", "posixpath",
	"pprint", "profile", "profiling", "pstats", "pty", "pwd", "py_compile", "pyclbr", "pydoc",
	"pydoc_data", "pyexpat", "queue", "quopri", "random", "re", "readline", "reprlib",
	"resource", "rlcompleter", "runpy", "sched", "secrets", "select", "selectors", "shelve",
	"shlex", "shutil", "signal", "site", "smtpd", "smtplib", "sndhdr", "socket", "socketserver",
	"spwd", "sqlite3", "sre_compile", "sre_constants", "sre_parse", "ssl", "stat", "statistics",
	"string", "stringprep", "struct", "subprocess", "sunau", "symbol", "symtable", "sys",
	"sysconfig", "syslog", "tabnanny", "tarfile", "telnetlib", "tempfile", "termios",
	"textwrap", "this", "threading", "time", "timeit", "tkinter", "token", "tokenize",
	"tomllib", "trace", "traceback", "tracemalloc", "tty", "turtle", "turtledemo", "types",
	"typing", "unicodedata", "unittest", "urllib", "uu", "uuid", "venv", "warnings", "wave",
	"weakref", "webbrowser", "winreg", "winsound", "wsgiref", "xdrlib", "xml", "xmlrpc",
	"xxlimited", "xxlimited_35", "xxsubtype", "zipapp", "zipfile", "zipimport", "zlib",
	"zoneinfo",
};

struct word {
	const char *text;
	size_t len;
};

static int compare(const void *key, const void *entry)
{
	const struct word *word = key;
	const char *module = *(const char *const *)entry;
	int order = strncmp(word->text, module, word->len);

	return order ? order : module[word->len] ? -1 : 0;
}

bool heap_type_is_own(const char *name)
{
	struct word top = { name, strcspn(name, ".") };

	if (!name[top.len] || !top.len)
		return false;	/* built-in types have no module */
	if (*name == '_')
		return !strncmp(name, "__main__.", strlen("__main__."));
	return !bsearch(&top, modules, ARRAY_SIZE(modules), sizeof(*modules), compare);
}
