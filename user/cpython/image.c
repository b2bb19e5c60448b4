// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * image.c - recognises CPython in an ELF file and collects what is known of it.
 *
 * elf.c reads the file, version.c determines the version, debug_offsets.c and layout.c the offsets,
 * tls.c how a thread finds its state. A version without a row is refused by name; the nearest row
 * is never used.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cpython/debug_offsets.h"
#include "cpython/layout.h"
#include "cpython/libc.h"
#include "cpython/runtime.h"
#include "cpython/tls.h"
#include "cpython/version.h"
#include "elf/elf.h"

#define PAGE_MASK_4K 0xfffull

struct reader {
	struct elf_file f;
	struct cpython_image *img;
	char *why;
	size_t why_size;
	uint32_t hex;			/* PY_VERSION_HEX; 0: unknown */
	bool exact;			/* hex is 0, but the micro version is known */
	uint8_t offsets[DEBUG_OFFSETS_MAX];
	size_t offsets_len;		/* 0: _PyRuntime has no debug offsets */
};

__attribute__((format(printf, 3, 4)))
static int refuse_image(struct reader *r, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (r->why_size)
		vsnprintf(r->why, r->why_size, fmt, ap);
	va_end(ap);
	return err;
}

/* A symbol from .dynsym, else (a static Python linked without -rdynamic) .symtab. */
static int find_symbol(const struct reader *r, const char *name, struct elf_symbol *sym)
{
	if (!elf_file_dynsym(&r->f, name, sym))
		return 0;
	if (elf_file_symtab(&r->f, &name, sym, 1) || !sym->value)
		return -ENOENT;
	return 0;
}

/*
 * There is no symbol and no cookie: check whether there is a CPython nevertheless. 0: it is 3.6,
 * according to its .symtab.
 */
static int look_for_hidden(struct reader *r)
{
	struct elf_symbol sym;
	bool exact;

	if (!runtime_is_hidden(&r->f))
		return -ENOENT;
	if (!find_symbol(r, "_PyThreadState_Current", &sym))
		return 0;
	if (version_from_strings(r->img, &r->f, &exact))
		return refuse_image(r, -ENOTSUP, "CPython in a program stripped of its symbols is "
				    "not supported before 3.13 (its _PyRuntime cannot be "
				    "found; -rdynamic keeps it)");
	return refuse_image(r, -ENOTSUP, "CPython %s in a program stripped of its symbols is not "
			    "supported (its _PyRuntime cannot be found; -rdynamic keeps it)",
			    r->img->version);
}

/* Find _PyRuntime, which exists since 3.7. 3.6 has static variables instead: see find_statics(). */
static int find_runtime(struct reader *r)
{
	struct elf_symbol sym;
	uint32_t hex;
	int ft;

	if (runtime_find(&r->f, &r->img->runtime_vaddr) &&
	    elf_file_dynsym(&r->f, "_PyThreadState_Current", &sym))
		return look_for_hidden(r);
	if (r->img->runtime_vaddr) {
		ssize_t n = elf_file_read_some(&r->f, r->img->runtime_vaddr, r->offsets,
					       sizeof(r->offsets));

		if (n > 0 && !debug_offsets_version(r->offsets, n, &hex, &ft))
			r->offsets_len = n;
	}
	return 0;
}

/* Find the version: from Py_Version (3.11+), the debug offsets or the strings, in this order. */
static int find_version(struct reader *r)
{
	struct elf_symbol sym;
	uint64_t word = 0;
	uint32_t hex;
	int ft = 0, err;

	err = r->offsets_len ? elf_file_dynsym(&r->f, "Py_Version", &sym) :
			       find_symbol(r, "Py_Version", &sym);
	if (!err && !elf_file_read(&r->f, sym.value, &word, sizeof(word)))
		r->hex = (uint32_t)word;
	if (r->offsets_len) {
		debug_offsets_version(r->offsets, r->offsets_len, &hex, &ft);
		if (r->hex && r->hex != hex)
			return refuse_image(r, -ENOTSUP, "CPython whose Py_Version %#x and debug "
					    "offsets %#x disagree is not supported", r->hex, hex);
		r->hex = hex;
		r->img->free_threaded = ft;
	}
	if (r->hex || !version_from_constants(&r->f, &r->hex))
		return version_from_hex(r->img, r->hex);
	return version_from_strings(r->img, &r->f, &r->exact);
}

/* The minor version whose row applies: its own. A version after 3.15 may use 3.15's. */
static unsigned int row_of(const struct cpython_image *img)
{
	return img->minor > LAYOUT_MINOR_MAX ? LAYOUT_MINOR_MAX : img->minor;
}

/*
 * A version with an unknown number (3.16 and newer, alphas and betas of 3.15) is accepted only if
 * its debug offsets are word by word those of 3.15's final releases.
 */
static int check_newness(struct reader *r)
{
	struct cpython_image *img = r->img;
	const char *what = "size";
	bool newer = img->minor > LAYOUT_MINOR_MAX;

	if (newer && !r->offsets_len)
		return refuse_image(r, -ENOTSUP, "CPython %s is not supported (3.%u to 3.%u are)",
				    img->version, LAYOUT_MINOR_MIN, LAYOUT_MINOR_MAX);
	if (!newer && !(r->hex && version_is_unstable(r->hex)))
		return 0;
	/* For older versions, offsets are used that their debug offsets do not contain. */
	if (img->minor < LAYOUT_MINOR_MAX)
		return refuse_image(r, -ENOTSUP, "CPython %s is not supported (it is a "
				    "pre-release)", img->version);
	if (debug_offsets_are_final(r->offsets, r->offsets_len, &what))
		return refuse_image(r, -ENOTSUP, "CPython %s is not supported (it is %s, and its "
				    "debug offsets are not those of 3.%u: %s)", img->version,
				    newer ? "newer than 3.15" : "a pre-release",
				    LAYOUT_MINOR_MAX, what);
	return 0;
}

/*
 * Py_TRACE_REFS, up to 3.12: objects begin with two more pointers (Include/object.h,
 * _PyObject_HEAD_EXTRA). It renames PyModule_Create2() (Include/modsupport.h). A stripped program
 * still has the name of sys.getobjects() (Python/sysmodule.c), which only exists with it.
 */
static bool has_trace_refs(const struct reader *r)
{
	struct elf_symbol sym;

	if (r->img->minor >= 13)
		return false;
	if (!find_symbol(r, "PyModule_Create2TraceRefs", &sym))
		return true;
	return find_symbol(r, "PyModule_Create2", &sym) &&
	       version_has_string(&r->f, "getobjects");
}

static int check_version(struct reader *r)
{
	struct cpython_image *img = r->img;

	if (img->major != 3 || img->minor < LAYOUT_MINOR_MIN)
		return refuse_image(r, -ENOTSUP, "CPython %s is not supported (3.%u to 3.%u are)",
				    img->version, LAYOUT_MINOR_MIN, LAYOUT_MINOR_MAX);
	/* A version of "3.12" alone may be any of its alphas. */
	if (!r->hex && !r->exact)
		return refuse_image(r, -ENOTSUP, "CPython %s is not supported (its exact version "
				    "could not be found)", img->version);
	img->trace_refs = has_trace_refs(r);
	return check_newness(r);
}

static int find_layout(struct reader *r)
{
	struct cpython_image *img = r->img;
	unsigned int row = row_of(img);
	struct debug_offsets d;
	const char *what = "size";
	size_t size = debug_offsets_size(row);

	if (!size && !layout_from_table(img))
		return 0;
	if (!size)
		return refuse_image(r, -ENOTSUP, "CPython %s with a C library that is not known is "
				    "not supported on %s", img->version,
				    elf_machine_name(r->f.machine));
	if (r->offsets_len >= size &&
	    !debug_offsets_read(r->offsets, r->offsets_len, row, &d, &what) &&
	    !layout_from_debug_offsets(img, row, &d, &what))
		return 0;
	return refuse_image(r, -ENOTSUP, "CPython %s is not supported (its debug offsets are not "
			    "those of 3.%u: %s)", img->version, row, what);
}

/*
 * Offset from the thread pointer to the executable's TLS variable with this symbol value.
 * x86-64: the TLS block ends at the thread pointer, rounded up to its alignment (variant II
 * of "ELF Handling For Thread-Local Storage"). arm64: the block follows two words, rounded
 * up in the same way (variant I).
 */
static uint64_t tls_offset(const struct elf_file *f, uint64_t value)
{
	uint64_t align = f->tls_align;
	uint64_t before = f->machine == EM_AARCH64 ? 16 : f->tls_memsz;

	before = (before + align - 1) / align * align;
	return f->machine == EM_AARCH64 ? value + before : value - before;
}

/*
 * 3.15: decode the getter of _Py_tss_gilstate. If the variable's symbol was not stripped,
 * both must agree.
 */
static void find_tls(struct reader *r)
{
	static const char *const names[] = { "_Py_tss_gilstate" };
	struct cpython_image *img = r->img;
	uint8_t code[TLS_CODE_BYTES];
	struct elf_symbol fn, var;
	struct tls_where w;
	ssize_t n;

	img->tstate_how = PY_TSTATE_LIST;
	if (find_symbol(r, "PyGILState_GetThisThreadState", &fn))
		return;
	n = elf_file_read_some(&r->f, fn.value, code, sizeof(code));
	if (n <= 0 || tls_decode(r->f.machine, code, n, fn.value, &w))
		return;
	/* The layouts of the DTV and of a descriptor's target depend on the C library. */
	if (w.how == PY_TSTATE_TLS_DTV && r->f.dyn.needs_musl)
		w.how = PY_TSTATE_TLS_DTV_MUSL;
	else if (w.how != PY_TSTATE_TLS_TP && !r->f.dyn.needs_glibc)
		return;
	if (w.how == PY_TSTATE_TLS_TP && r->f.tls_align &&
	    !elf_file_symtab(&r->f, names, &var, 1) && var.value &&
	    (uint64_t)w.off != tls_offset(&r->f, var.value))
		return;
	img->tstate_how = w.how;
	img->tls_off = w.off;
	img->tls_index_vaddr = w.index_vaddr;
}

/*
 * 3.12 counts code objects in a static variable for all interpreters, a u32 that stops at 0
 * (Objects/codeobject.c, init_code()). Its symbol is local, so a stripped file does not have it.
 */
static void find_epoch(struct reader *r)
{
	static const char *const names[] = { "_Py_next_func_version" };
	struct elf_symbol var;

	if (!elf_file_symtab(&r->f, names, &var, 1) && var.size == sizeof(uint32_t))
		r->img->epoch_vaddr = var.value;
}

static void find_first_load(struct reader *r)
{
	unsigned int i;

	for (i = 0; i < r->f.load_cnt; i++)
		if ((r->f.loads[i].off & ~PAGE_MASK_4K) == 0) {
			r->img->first_load_vaddr = r->f.loads[i].vaddr & ~PAGE_MASK_4K;
			break;
		}
}

/*
 * 3.6: the GIL's locks are separate variables, which linkers place next to each other (v3.6.0,
 * Python/ceval_gil.h). In a stripped file they cannot be found.
 */
#define GIL_STATICS_MAX 1024
static void find_gil_statics(struct reader *r)
{
	static const char *const names[] = { "gil_cond", "gil_mutex", "switch_cond",
					     "switch_mutex" };
	struct elf_symbol vars[ARRAY_SIZE(names)] = { { 0 } };
	uint64_t low = UINT64_MAX, high = 0;
	size_t i;

	elf_file_symtab(&r->f, names, vars, ARRAY_SIZE(names));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		low = vars[i].value < low ? vars[i].value : low;
		high = vars[i].value > high ? vars[i].value : high;
	}
	if (!low || high - low > GIL_STATICS_MAX)
		return;
	r->img->gil_vaddr = low;
	r->img->layout.gil_locks = high - low + layout_cond_bytes();
}

/*
 * 3.6 has static variables in place of _PyRuntime. Their symbols are local, and stripping removes
 * them, but two exported functions refer to the indispensable ones (x86-64). Without the others,
 * garbage collections are not detected, or not counted.
 */
static int find_statics(struct reader *r)
{
	static const char *const names[] = { "interp_head", "autoTLSkey", "collecting",
					     "generation_stats" };
	struct cpython_image *img = r->img;
	struct elf_symbol vars[ARRAY_SIZE(names)] = { { 0 } }, current;
	uint64_t decoded;

	elf_file_symtab(&r->f, names, vars, ARRAY_SIZE(names));
	img->interps_vaddr = vars[0].value;
	img->tss_vaddr = vars[1].value;
	img->collecting_vaddr = vars[2].value;
	img->gc_stats_vaddr = vars[3].value;
	if (!img->gc_stats_vaddr)
		img->layout.gc_stats_how = PY_GC_STATS_NONE;
	if (!img->interps_vaddr && !runtime_decode(&r->f, RUNTIME_INTERP_HEAD, &decoded))
		img->interps_vaddr = decoded;
	if (!img->tss_vaddr && !runtime_decode(&r->f, RUNTIME_TLS_KEY, &decoded))
		img->tss_vaddr = decoded;
	if (!find_symbol(r, "_PyThreadState_Current", &current))
		img->current_vaddr = current.value;
	img->runtime_vaddr = img->interps_vaddr;
	find_gil_statics(r);
	if (img->interps_vaddr && img->tss_vaddr && img->current_vaddr)
		return 0;
	return refuse_image(r, -ENOTSUP, "CPython %s without symbols of its variables is not "
			    "supported", img->version);
}

static uint64_t in_runtime(const struct cpython_image *img, uint16_t off)
{
	return off == ABI_NO_OFF ? 0 : img->runtime_vaddr + off;
}

static int find_addresses(struct reader *r)
{
	struct cpython_image *img = r->img;

	if (img->minor == 6)
		return find_statics(r);
	if (!img->runtime_vaddr)
		return -ENOENT;
	img->interps_vaddr = in_runtime(img, img->rt.interp_head);
	img->current_vaddr = in_runtime(img, img->rt.gil);
	img->collecting_vaddr = in_runtime(img, img->rt.collecting);
	img->gc_stats_vaddr = in_runtime(img, img->rt.gc_stats);
	img->main_id_vaddr = in_runtime(img, img->rt.main_thread);
	img->gil_vaddr = in_runtime(img, img->rt.ceval_gil);
	img->tss_vaddr = in_runtime(img, img->rt.tss_key);
	if (img->tss_vaddr)
		img->tss_vaddr += 4;	/* Py_tss_t: int _is_initialized; pthread_key_t _key */
	return 0;
}

static void find_rest(struct reader *r)
{
	struct cpython_image *img = r->img;
	struct elf_symbol sym;

	if (!find_symbol(r, "_Py_NoneStruct", &sym))
		img->none_vaddr = sym.value;
	/*
	 * This symbol only exists with Py_REF_DEBUG, which Py_DEBUG implies
	 * (Objects/object.c, all versions).
	 */
	img->debug = !find_symbol(r, "_Py_NegativeRefcount", &sym);
	find_first_load(r);
	if (img->minor == 12)
		find_epoch(r);
	if (!img->tss_vaddr)
		find_tls(r);
	else	/* The C library determines where pthread_getspecific() finds a key's value. */
		img->tstate_how = r->f.dyn.needs_glibc ? PY_TSTATE_TSS_GLIBC :
				  r->f.dyn.needs_musl  ? PY_TSTATE_TSS_MUSL :
							 PY_TSTATE_LIST;
	img->needs_self = libc_self_is_below(r->f.machine) &&
			  (img->tstate_how == PY_TSTATE_TSS_GLIBC ||
			   img->tstate_how == PY_TSTATE_TSS_MUSL ||
			   img->tstate_how == PY_TSTATE_LIST);
}

int cpython_image_read(int fd, struct cpython_image *img, char *why, size_t why_size)
{
	struct reader r = { .img = img, .why = why, .why_size = why_size };
	uint64_t first;
	int err;

	memset(img, 0, sizeof(*img));
	if (why_size)
		why[0] = '\0';
	err = elf_file_open(&r.f, fd);
	if (err == -ENOENT)
		return err;
	if (err == -ENOEXEC)
		return refuse_image(&r, err, "a 32-bit or big-endian program is not supported "
				    "(64-bit %s is)", elf_machine_name(ELF_OWN_MACHINE));
	if (err)
		return refuse_image(&r, err, "cannot read the file: %s", strerror(-err));
	if (runtime_copies(&r.f, &img->runtime_vaddr, &img->none_vaddr)) {
		find_first_load(&r);
		return -EXDEV;
	}
	err = find_runtime(&r);
	if (err)
		return err;
	err = find_version(&r);
	if (err == -ENOTSUP)
		return err;
	if (err)
		return refuse_image(&r, -ENOTSUP, "CPython of a version that cannot be found is "
				    "not supported");
	if (r.f.machine != ELF_OWN_MACHINE)
		return refuse_image(&r, -ENOTSUP, "CPython %s for %s is not supported (this "
				    "tachbpf is for %s)", img->version,
				    elf_machine_name(r.f.machine),
				    elf_machine_name(ELF_OWN_MACHINE));
	err = check_version(&r);
	if (err)
		return err;
	/* From 3.11 on _PyRuntime is initialised data. */
	if (img->minor >= 11 && (!img->runtime_vaddr ||
				 elf_file_read(&r.f, img->runtime_vaddr, &first, sizeof(first))))
		return -ENOENT;
	img->program = r.f.program;
	img->needs_glibc = r.f.dyn.needs_glibc;
	img->needs_musl = r.f.dyn.needs_musl;
	img->mutexes_extra = libc_mutexes_extra(r.f.machine, r.f.dyn.needs_glibc,
						r.f.dyn.needs_musl);
	err = find_layout(&r);
	if (!err)
		err = find_addresses(&r);
	if (err)
		return err;
	find_rest(&r);
	return 0;
}
