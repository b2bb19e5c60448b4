/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the profile, as docs/format-heatmap.md has it ---- */

const READ = 0;
const WHY = [
	'',
	'Sources were not included: only lines with samples are listed.',
	'This file could not be read here: only lines with samples are listed.',
	'This is not the path of a file: only lines with samples are listed.',
	'This file is too large to show: only lines with samples are listed.',
	'This does not look like Python source: only lines with samples are listed.',
];
const LINES_MAX = 1000000; /* browsers cannot scroll much further */

class Source {
	constructor(r, str, opcodes) {
		this.name = str(r.varint());
		this.total = r.varint();
		this.self = r.varint();
		this.readLines(r, str);
		this.readSpans(r);
		this.readOpcodes(r, opcodes);
		this.state = r.varint();
		this.bytes = this.state === READ ? r.take() : null;
	}

	readLines(r, str) {
		const n = r.count(),
			at = r.column(n, Uint32Array),
			func = r.column(n, Uint32Array);
		const total = r.column(n, Float64Array),
			self = r.column(n, Float64Array);

		/* By line number; 0: not known. */
		this.lines = new Map();
		for (let i = 0; i < n; i++)
			this.lines.set(at[i], {
				at: at[i],
				total: total[i],
				self: self[i],
				spans: [],
				get func() {
					return str(func[i]);
				},
			});
		this.sampled = [...this.lines.values()].sort((a, b) => a.at - b.at);
	}

	readSpans(r) {
		const n = r.count(),
			at = r.column(n, Uint32Array),
			from = r.column(n, Uint32Array);
		const endLine = r.column(n, Uint32Array),
			to = r.column(n, Uint32Array);
		const total = r.column(n, Float64Array),
			self = r.column(n, Float64Array);

		for (let i = 0; i < n; i++) {
			/* Without columns the line says it all. */
			if (from[i])
				this.lines
					.get(at[i])
					?.spans.push({
						from: from[i] - 1,
						endLine: endLine[i],
						to: to[i] - 1,
						total: total[i],
						self: self[i],
					});
		}
	}

	/* A line's samples that were taken in it, by instruction. */
	readOpcodes(r, opcodes) {
		const n = r.count(),
			at = r.column(n, Uint32Array),
			name = r.column(n, Uint32Array),
			self = r.column(n, Float64Array);

		for (let i = 0; i < n; i++) {
			const line = this.lines.get(at[i]);

			if (!line) continue;
			line.opcodes ??= new Map();
			line.opcodes.set(printable(opcodes[name[i]] ?? '?'), self[i]);
		}
	}

	/* Lines as Python counts them: after \n, \r\n and \r. */
	get text() {
		if (!this.split && this.bytes) {
			this.split = new TextDecoder().decode(this.bytes).split(/\r\n|\n|\r/);
			if (this.split.at(-1) === '') this.split.pop();
			this.bytes = null;
		}
		return this.split || null;
	}

	/* What is listed: line numbers in order. */
	get rows() {
		if (this.listed) return this.listed;
		const text = this.text,
			rows = this.sampled.filter((l) => !text || !l.at).map((l) => l.at);

		if (text) {
			for (let i = 1; i <= Math.min(text.length, LINES_MAX); i++) rows.push(i);
			rows.push(
				...this.sampled
					.filter((l) => l.at > Math.min(text.length, LINES_MAX))
					.map((l) => l.at),
			);
		}
		return (this.listed = rows);
	}

	get note() {
		if (this.state !== READ) return WHY[this.state] || WHY[2];
		if (this.sampled.some((l) => l.at > this.text.length))
			return 'This file has changed since the recording: there are samples past its end, and other lines may have moved.';
		if (this.text.length > LINES_MAX)
			return `Only the first ${count(LINES_MAX)} lines are shown.`;
		return '';
	}
}

class Profile {
	constructor(r) {
		this.meta = r.json();
		const str = r.strings(),
			n = r.count();

		this.files = [];
		for (let i = 0; i < n; i++) this.files.push(new Source(r, str, this.meta.opcodes || []));
		/* Yours first; those of one owner stay in the order of their totals. */
		const owners = Object.keys(OWNERS);

		for (const f of this.files) f.owner = ownerOf(f.name);
		this.files.sort((x, y) => owners.indexOf(x.owner) - owners.indexOf(y.owner));
		this.most = { self: 0, total: 0 };
		for (const f of this.files) {
			f.most = { self: 0, total: 0 };
			for (const l of f.sampled) {
				for (const key of ['self', 'total']) {
					f.most[key] = Math.max(f.most[key], l[key]);
					this.most[key] = Math.max(this.most[key], l[key]);
				}
			}
		}
	}

	/* The file to begin with: it has the line in which most time went. */
	get hottest() {
		return this.files.reduce((a, b) => (b.most.self > a.most.self ? b : a));
	}
}

/* Where byte `column` of a line's UTF-8 is in the string. */
function indexOfByte(line, column) {
	let bytes = 0,
		i = 0;

	while (i < line.length && bytes < column) {
		const c = line.codePointAt(i);

		bytes += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		i += c > 0xffff ? 2 : 1;
	}
	return i;
}
