'use strict';
/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the reports: the data block, formatting, theme. Names come from
 * profiles and are hostile: they become text nodes or canvas text, never markup.
 */

const $ = (id) => document.getElementById(id);

/* What utf8_printable() of tachbpf refuses is shown by number, as tachbpf itself has done. */
const UNPRINTABLE = new RegExp(
	'[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f' +
		'\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb' +
		'\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]',
	'gu'
);
const printable = (s) =>
	s.replace(UNPRINTABLE, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, '0')}`);

/* An element. props: className, attributes, on<event>; children: nodes or text. */
function el(tag, props, ...children) {
	const e = document.createElement(tag);
	for (const [key, value] of Object.entries(props || {})) {
		if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
		else if (key === 'className' || key === 'hidden' || key === 'checked')
			e[key] = value;
		else if (value !== null && value !== undefined) e.setAttribute(key, value);
	}
	put(e, ...children);
	return e;
}

/* Gives a node these children instead of its own: those of them that are not null. */
const put = (node, ...children) => node.replaceChildren(...children.filter((c) => c !== null && c !== undefined));

/* The data: varints (LEB128) and bytes, one after another. */
class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}

	/* Exact up to 2^53, then the nearest double. */
	varint() {
		const b = this.bytes;
		let v = 0,
			factor = 1,
			byte;

		do {
			if (this.at >= b.length)
				throw new RangeError(`data ends at byte ${this.at}`);
			byte = b[this.at++];
			v += (byte & 127) * factor;
			factor *= 128;
		} while (byte & 128);
		return v;
	}

	count() {
		const n = this.varint();

		/* Everything that is counted takes a byte at least. */
		if (n > this.bytes.length - this.at)
			throw new RangeError(`${n} items at byte ${this.at}, and no room for them`);
		return n;
	}

	column(n, Type) {
		const out = new Type(n);
		const b = this.bytes;
		let at = this.at;

		for (let i = 0; i < n; i++) {
			/* Most numbers are small: no call for them. */
			if (b[at] < 128) {
				out[i] = b[at++];
			} else {
				this.at = at;
				out[i] = this.varint();
				at = this.at;
			}
		}
		this.at = at;
		if (at > b.length) throw new RangeError(`data ends at byte ${b.length}`);
		return out;
	}

	/* Of signed numbers, each the difference to the one before it. */
	differences(n, Type) {
		const out = this.column(n, Float64Array);
		let sum = 0;

		for (let i = 0; i < n; i++) {
			sum += out[i] % 2 ? -(out[i] + 1) / 2 : out[i] / 2;
			out[i] = sum;
		}
		return Type.from(out);
	}

	take() {
		const n = this.count();

		this.at += n;
		return this.bytes.subarray(this.at - n, this.at);
	}

	json() {
		return JSON.parse(new TextDecoder().decode(this.take()));
	}

	/* A function that gives string i, decoded when first asked for. */
	strings() {
		const n = this.count(),
			lengths = this.column(n, Uint32Array),
			text = this.take();
		const starts = new Uint32Array(n + 1),
			known = new Array(n);
		const decoder = new TextDecoder();

		for (let i = 0; i < n; i++) starts[i + 1] = starts[i] + lengths[i];
		return (i) =>
			(known[i] ??= printable(
				decoder.decode(text.subarray(starts[i], starts[i + 1])),
			));
	}
}

async function loadData() {
	const text = $('data').textContent.trim();
	let packed;

	if (Uint8Array.fromBase64) {
		packed = Uint8Array.fromBase64(text);
	} else {
		const raw = atob(text);

		packed = new Uint8Array(raw.length);
		for (let i = 0; i < raw.length; i++) packed[i] = raw.charCodeAt(i);
	}
	$('data').remove();
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
	return new Reader(new Uint8Array(await new Response(stream).arrayBuffer()));
}

/* ---- numbers ---- */

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const count = (n) => grouped.format(n);
/* With n significant digits, never with an exponent. */
const formats = [1, 2, 3, 4].map(
	(n) => new Intl.NumberFormat('en-US', { minimumSignificantDigits: n, maximumSignificantDigits: n }),
);
const significant = (v, n) => (v < 1e4 ? formats[n - 1].format(v) : count(v));
const percent = (part, whole) => {
	const p = whole ? (part / whole) * 100 : 0,
		size = Math.abs(p);

	if (!isFinite(p)) return '–';
	if (p && size < 0.0001) return '<0.0001%';
	return `${p && size < 0.01 ? significant(p, 1) : size < 1e4 ? p.toFixed(size < 10 ? 2 : 1) : count(p)}%`;
};

function scaled(n, steps) {
	let i = 0;

	if (!isFinite(n)) return '–';
	while (i + 1 < steps.length && Math.abs(n) >= steps[i + 1][0]) i++;
	const v = +(n / steps[i][0]).toPrecision(12);

	return `${Number.isInteger(v) && v < 1e4 ? v : significant(v, v >= 100 ? 4 : 3)} ${steps[i][1]}`;
}
const TIMES = [
	[1e-9, 'ns'],
	[1e-6, 'µs'],
	[1e-3, 'ms'],
	[1, 's'],
];
const SIZES = [
	[1, 'B'],
	[1024, 'KiB'],
	[1048576, 'MiB'],
	[1073741824, 'GiB'],
	[1099511627776, 'TiB'],
];
const seconds = (s) => (s < 600 ? scaled(s, TIMES) : `${count(s / 60)} min`);
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

/* The end of a path, from a slash on if there is one, in at most so many characters. */
function ending(path, room) {
	if (path.length <= room) return path;
	const tail = path.slice(1 - room),
		slash = tail.indexOf('/');

	return `…${slash > 0 ? tail.slice(slash) : tail}`;
}

/* At most so many characters: what is left out is in the middle, because ends differ. */
const middleCut = (text, most) =>
	text.length > most ? `${text.slice(0, Math.floor(most / 2) - 1)}…${text.slice(-Math.ceil(most / 2))}` : text;

/* How weights are written: by the unit that all processes share. */
function unitOf(meta) {
	const units = new Set(meta.processes.map((p) => p.unit));
	const intervals = new Set(meta.processes.map((p) => p.interval_us));
	const unit = units.size === 1 ? [...units][0] : 'samples';

	if (unit === 'bytes')
		return { name: 'bytes', text: (n) => scaled(n, SIZES), time: () => null };
	if (unit === 'nanoseconds')
		return { name: 'time', text: (n) => seconds(n / 1e9), time: () => null };
	const interval = intervals.size === 1 ? [...intervals][0] / 1e6 : 0;
	return {
		name: 'samples',
		text: count,
		isSamples: true,
		time: (n) => (interval ? seconds(n * interval) : null),
	};
}

/* ---- theme ---- */

const theme = {
	listeners: [],
	get dark() {
		return document.documentElement.dataset.theme === 'dark';
	},
	set(dark) {
		document.documentElement.dataset.theme = dark ? 'dark' : 'light';
		$('theme').textContent = dark ? '☀' : '☾';
		this.listeners.forEach((f) => f());
	},
	/* What the user chose once, else what the system prefers. */
	start() {
		const system = matchMedia('(prefers-color-scheme: dark)');
		let chosen = null;

		try {
			chosen = localStorage.getItem('tachbpf-theme');
		} catch (e) {
			/* storage is off for this file: nothing is remembered */
		}
		this.set(chosen ? chosen === 'dark' : system.matches);
		system.addEventListener('change', () => chosen || this.set(system.matches));
		this.toggle = () => {
			this.set(!this.dark);
			chosen = this.dark ? 'dark' : 'light';
			try {
				localStorage.setItem('tachbpf-theme', chosen);
			} catch (e) {
				/* as above */
			}
		};
		$('theme').addEventListener('click', this.toggle);
	},
};

/* ---- colours ---- */

/* Oklch to "rgb(...)": equal lightness looks equally light in every hue. Ottosson 2020. */
function oklch(L, C, hue) {
	const a = C * Math.cos((hue * Math.PI) / 180),
		b = C * Math.sin((hue * Math.PI) / 180);
	const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
	const linear = [
		4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
		-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
		-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
	];
	const byte = (v) => {
		v = Math.min(1, Math.max(0, v));
		return Math.round(
			255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055),
		);
	};
	return `rgb(${linear.map(byte).join(' ')})`;
}

/* FNV-1a with a last mix: the same name has the same colour in every report. */
function hashText(s) {
	let h = 0x811c9dc5;

	for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 0x01000193);
	h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
	h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
	return (h ^ (h >>> 16)) >>> 0;
}

/* The opcodes of a place and their shares, { name: weight }, as an element; null: not known. */
function opcodesText(opcodes) {
	if (!opcodes?.size) return null;
	const list = [...opcodes].sort((x, y) => y[1] - x[1]),
		sum = list.reduce((s, [, n]) => s + n, 0),
		shown = list.slice(0, 5).map(([name, n]) => `${name} ${percent(n, sum)}`),
		left = list.length - shown.length;

	return el(
		'div',
		{ className: 'opcodes' },
		`self, all samples, at ${shown.join(', ')}${left ? ` and ${left} more` : ''}`,
	);
}

/* ---- whose code ---- */

/* In the order in which they are listed. */
const OWNERS = {
	own: 'Your code',
	package: 'Packages',
	standard: 'Standard library',
	other: 'Other',
};

/*
 * Whose a Python file is: an installed package's, the standard library's, of a program that came
 * with the system, or your own. user/model/code_owner.c has the same rule.
 */
function ownerOf(file) {
	if (/(?:site|dist)-packages\//.test(file)) return 'package';
	if (/\/lib(?:64)?\/python\d[^/]*\/|\/python\d+\.zip\/|^<frozen /.test(file)) return 'standard';
	return /^\/(?:usr\/)?(?:s?bin|libexec|share)\/|^\/snap\//.test(file) ? 'other' : 'own';
}

/* ---- what a profile says about itself ---- */

const range = (values, text) => {
	const known = values.filter((v) => typeof v === 'number' && isFinite(v));

	if (!known.length) return null;
	const low = Math.min(...known),
		high = Math.max(...known);
	return text(low) === text(high) ? text(low) : `${text(low)} – ${text(high)}`;
};
const each = (values) => [...new Set(values.filter((v) => v !== null && v !== undefined))];

function processName(p) {
	const side = p.side_name ? `${p.side_name}: ` : '';

	return (
		side +
			[p.comm, p.pid ? `pid ${p.pid}` : null, p.container ? `@${p.container}` : null]
				.filter(Boolean)
				.join(', ') ||
		'process'
	);
}

function showFacts(meta, extra) {
	const ps = meta.processes,
		isMemory = ps.some((p) => p.unit === 'bytes');
	const facts = [
		ps.length > 1
			? ['', plural(ps.length, 'process').replace('processs', 'processes')]
			: ps.length && (ps[0].comm || ps[0].pid)
				? ['', processName(ps[0])]
				: null,
		['container', each(ps.map((p) => p.container)).join(', ')],
		['image', each(ps.map((p) => p.image)).join(', ')],
		['Python', each(ps.map((p) => p.python)).join(', ')],
		['mode', each(ps.map((p) => p.mode)).join(', ')],
		[
			isMemory ? 'checked every' : 'every',
			range(
				ps.map((p) => (isMemory ? p.held?.check_us : p.interval_us) || NaN),
				(us) => seconds(us / 1e6),
			),
		],
		[
			'duration',
			range(
				ps.map((p) => p.duration_s),
				seconds,
			),
		],
		isMemory
			? null
			: [
					'rate',
					range(
						ps.map((p) => p.rate_hz),
						(hz) => `${hz >= 10 ? count(hz) : significant(hz, 3)} Hz`,
					),
				],
		...extra,
	];
	const worst = (key) => Math.max(0, ...ps.map((p) => p[key] || 0));

	if (worst('missed_pct') > 0)
		facts.push(['missed', percent(worst('missed_pct'), 100), 'warn']);
	if (worst('error_pct') > 0)
		facts.push(['failed', percent(worst('error_pct'), 100), 'warn']);
	if (meta.opcodes_left_out > 0)
		facts.push(['without their opcode', count(meta.opcodes_left_out), 'warn']);
	put(
		$('facts'),
		...facts
			.filter((f) => f && f[1])
			.map(([name, value, kind]) =>
				el(
					'li',
					{ className: kind || '' },
					name ? `${name} ` : '',
					el('b', null, printable(value)),
				),
			),
	);
}

/* ---- the page ---- */

function startHelp() {
	const help = $('help');

	$('help-button').addEventListener('click', () => help.showModal());
	return () => (help.open ? help.close() : help.showModal());
}

/* As common.css has it: the toolbar is a menu, and controls are as large as a finger. */
const small = matchMedia('(max-width: 800px), (max-height: 500px)');

function openMenu(open) {
	$('bar').classList.toggle('open', open);
	$('menu-button').setAttribute('aria-expanded', open);
}

/* On a small screen the menu also has what is otherwise above and below the picture. */
function startMenu() {
	const homes = ['facts', 'tools', 'legend'].map((id) => [$(id), $(id).parentNode]);
	const place = () => {
		for (const [node, home] of homes) (small.matches ? $('bar') : home).append(node);
		openMenu(false);
	};
	const isOpen = () => $('bar').classList.contains('open');

	small.addEventListener('change', place);
	place();
	$('menu-button').addEventListener('click', () => openMenu(!isOpen()));
	document.addEventListener('pointerdown', (e) => {
		if (isOpen() && !e.target.closest('#bar, #menu-button, .popover, dialog')) openMenu(false);
	});
	document.addEventListener(
		'keydown',
		(e) => {
			if (e.key !== 'Escape' || !isOpen() || document.querySelector('dialog[open], .popover:not([hidden])'))
				return;
			e.stopPropagation();
			openMenu(false);
			$('menu-button').focus();
		},
		true,
	);
}

const isTyping = () => /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '');

/* window.report is for tests and the console: `ready` is the time to the first picture in ms. */
const report = {};

window.report = report;

function start(main) {
	theme.start();
	startMenu();
	report.loaded = loadData()
		.then(main)
		.then(
			() => {
				report.ready = performance.now();
			},
			(e) => {
				report.error = String(e);
				put(
					document.querySelector('main'),
					el(
						'p',
						{ className: 'failed', role: 'alert' },
						typeof DecompressionStream === 'undefined'
							? 'This browser is too old for this report: it needs DecompressionStream (2023 or later).'
							: `This report cannot be read: ${e.message}`,
					),
				);
				throw e;
			},
		);
}
