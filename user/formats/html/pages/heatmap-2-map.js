/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the state, and what is drawn ---- */

const ROW = 20; /* CSS pixels; .row in heatmap.css */
const MARGIN = 15; /* rows drawn above and below what can be seen */
const FILE_ROWS = 1000;
const CODE_MAX = 2000; /* characters of a line that are shown */

class Heatmap {
	constructor(profile) {
		this.profile = profile;
		this.unit = unitOf(profile.meta);
		this.by = 'self';
		this.scale = 'profile';
		this.pattern = null;
		this.current = 0; /* line number */
		this.colours = [];
		this.folded = new Set(); /* owners whose files are not listed */
		this.mostTotal = profile.files.reduce((m, f) => Math.max(m, f.total), 1);
	}

	/* 0 to 1, by the logarithm: otherwise only the hottest line would have a colour. */
	heat(n) {
		const most = (this.scale === 'file' ? this.file : this.profile).most[this.by];

		return n && most ? Math.log(n + 1) / Math.log(most + 1) : 0;
	}

	colour(heat, strength = 1) {
		const step = Math.round(heat * 50),
			key = step + (strength === 1 ? 0 : 100);

		if (!this.colours[key]) {
			const t = step / 50,
				hue = 95 - 65 * t;

			this.colours[key] = theme.dark
				? oklch(0.27 + 0.2 * t * strength, (0.03 + 0.1 * t) * strength, hue)
				: oklch(
						0.975 - 0.2 * t * strength,
						(0.025 + 0.125 * t) * strength,
						hue,
					);
		}
		return this.colours[key];
	}

	/* ---- the file that is shown ---- */

	open(file, line) {
		const all = this.profile.meta.samples;

		this.file = file;
		if (this.folded.delete(file.owner)) this.showFiles();
		this.index = new Map(file.rows.map((at, i) => [at, i]));
		$('file-name').textContent = file.name;
		$('file-facts').textContent =
			`total ${this.weight(file.total, all)}, self ${this.weight(file.self, all)}`;
		$('note').hidden = !file.note;
		$('note').textContent = file.note;
		$('sizer').style.height = `${file.rows.length * ROW}px`;
		$('scroller').setAttribute('aria-rowcount', file.rows.length);
		$('scroller').scrollLeft = 0;
		for (const button of $('files').querySelectorAll('button')) {
			if (button.title === file.name) {
				button.setAttribute('aria-current', 'true');
				button.scrollIntoView({ block: 'nearest' });
			} else {
				button.removeAttribute('aria-current');
			}
		}
		this.goTo(line ?? this.hottest());
	}

	weight(n, all) {
		return `${this.unit.text(n)} (${percent(n, all)})`;
	}

	hottest() {
		const lines = this.file.sampled;
		const best = (key) => lines.reduce((a, b) => (b[key] > a[key] ? b : a), lines[0]);

		return (best(this.by)[this.by] ? best(this.by) : best('total')).at;
	}

	/* ---- lines ---- */

	goTo(line) {
		const s = $('scroller'),
			row = this.index.get(line) ?? 0;

		this.current = line;
		if (
			row * ROW < s.scrollTop ||
			(row + 1) * ROW > s.scrollTop + s.clientHeight ||
			this.drawn !== this.file
		)
			s.scrollTop = row * ROW - s.clientHeight / 3;
		this.draw();
		this.showStatus(line);
	}

	step(by) {
		const hot = this.file.sampled.filter((l) => l[this.by]).map((l) => l.at);
		const next =
			by > 0
				? hot.find((at) => at > this.current)
				: hot.findLast((at) => at < this.current);

		if (next !== undefined) this.goTo(next);
	}

	stepFile(by) {
		const next = this.profile.files[this.profile.files.indexOf(this.file) + by];

		if (next) this.open(next);
	}

	draw() {
		const s = $('scroller'),
			{ rows } = this.file;
		const first = Math.max(0, Math.floor(s.scrollTop / ROW) - MARGIN);
		const last = Math.min(
			rows.length,
			Math.ceil((s.scrollTop + s.clientHeight) / ROW) + MARGIN,
		);

		$('rows').style.top = `${first * ROW}px`;
		put(
			$('rows'),
			...rows.slice(first, last).map((at, i) => this.row(at, first + i)),
		);
		this.drawn = this.file;
		this.drawMap();
	}

	row(at, index) {
		const line = this.file.lines.get(at),
			text = this.file.text?.[at - 1];
		const heat = line ? this.heat(line[this.by]) : 0;
		const number = (key) =>
			el(
				'span',
				{ className: key, role: 'cell' },
				line?.[key] ? this.unit.text(line[key]) : '',
			);
		const self = number('self'),
			total = number('total');
		const code = el('span', { className: 'code', role: 'cell' });

		if (text === undefined)
			code.append(
				line
					? at
						? `in ${line.func}`
						: `unknown line, in ${line.func}`
					: '',
			);
		else
			code.append(
				...this.code(
					printable(
						text.slice(0, CODE_MAX).replace(/\t/g, '        '),
					),
					text,
					line,
				),
			);
		if (heat) {
			(this.by === 'self' ? self : total).style.background = this.colour(heat);
			code.style.background = this.colour(heat, 0.3);
		}
		return el(
			'div',
			{
				className: `row${text === undefined ? ' absent' : ''}${at === this.current ? ' current' : ''}`,
				role: 'row',
				'aria-rowindex': index + 1,
				'data-line': at,
				title: opcodesText(line?.opcodes)?.textContent ?? null,
				onmouseenter: () => this.showStatus(at),
			},
			el('span', { className: 'at', role: 'rowheader' }, at ? String(at) : '–'),
			self,
			total,
			code,
		);
	}

	/* A line's text in pieces: the spans with samples, and what was searched for. */
	code(shown, text, line) {
		/* With replaced characters, columns of the file are not columns of the screen. */
		if (line?.spans.length && shown === text.slice(0, CODE_MAX))
			return this.spanned(shown, line);
		if (!this.pattern) return [shown];
		return this.marked(shown);
	}

	marked(text) {
		const out = [];
		let from = 0;

		for (const match of text.matchAll(this.pattern)) {
			if (!match[0]) continue;
			out.push(text.slice(from, match.index), el('mark', null, match[0]));
			from = match.index + match[0].length;
		}
		out.push(text.slice(from));
		return out;
	}

	/* Each piece gets the smallest span that covers it, so inner expressions stand out. */
	spanned(text, line) {
		const spans = line.spans
			.map((s) => {
				const from = indexOfByte(text, s.from);
				const to =
					s.endLine > line.at || s.to < 0
						? text.length
						: indexOfByte(text, s.to);

				return { ...s, first: from, last: Math.max(from, to) };
			})
			.filter((s) => s.last > s.first);
		const cuts = [
			...new Set([0, text.length, ...spans.flatMap((s) => [s.first, s.last])]),
		].sort((a, b) => a - b);
		const out = [];

		spans.sort((a, b) => a.last - a.first - (b.last - b.first));
		for (let i = 0; i + 1 < cuts.length; i++) {
			const piece = text.slice(cuts[i], cuts[i + 1]);
			const span = spans.find((s) => s.first <= cuts[i] && cuts[i + 1] <= s.last);
			const content = this.pattern ? this.marked(piece) : [piece];

			out.push(...(span ? [this.span(span, content)] : content));
		}
		return out;
	}

	span(span, content) {
		const heat = this.heat(span[this.by]);
		const end = span.endLine ? `, to line ${span.endLine}` : '';
		const e = el(
			'span',
			{
				className: 'span',
				'data-self': span.self,
				'data-total': span.total,
				title: `this expression: self ${this.unit.text(span.self)}, total ${this.unit.text(span.total)}${end}`,
			},
			...content,
		);

		if (heat) {
			e.style.background = this.colour(heat, 0.75);
			e.style.boxShadow = `inset 0 -2px ${theme.dark ? oklch(0.7, 0.14, 95 - 65 * heat) : oklch(0.6, 0.16, 95 - 65 * heat)}`;
		}
		return e;
	}

	/* The whole file in a strip, hot lines as marks. */
	drawMap() {
		const canvas = $('map'),
			ratio = devicePixelRatio || 1,
			h = canvas.clientHeight;
		const w = canvas.clientWidth,
			ctx = canvas.getContext('2d'),
			{ rows, lines } = this.file;
		const scale = Math.min(ROW, h / Math.max(1, rows.length)),
			s = $('scroller');

		canvas.width = w * ratio;
		canvas.height = h * ratio;
		ctx.scale(ratio, ratio);
		ctx.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(
			'--raised',
		);
		ctx.fillRect(
			0,
			(s.scrollTop / ROW) * scale,
			w,
			Math.min(h, (s.clientHeight / ROW) * scale),
		);
		for (const line of [...lines.values()].sort((a, b) => a[this.by] - b[this.by])) {
			const heat = this.heat(line[this.by]);

			if (!heat) continue;
			ctx.fillStyle = theme.dark
				? oklch(0.45 + 0.25 * heat, 0.14, 95 - 65 * heat)
				: oklch(0.85 - 0.25 * heat, 0.16, 95 - 65 * heat);
			ctx.fillRect(
				2,
				this.index.get(line.at) * scale,
				w - 4,
				Math.max(2, scale - 1),
			);
		}
		this.mapScale = scale;
	}

	showStatus(at) {
		const line = this.file.lines.get(at),
			all = this.profile.meta.samples;

		$('status').value = `${this.file.name}${at ? `:${at}` : ''}${
			line
				? ` in ${line.func}: self ${this.weight(line.self, all)}, total ${this.weight(line.total, all)}`
				: ': no samples'
		}${line?.opcodes ? `; ${opcodesText(line.opcodes).textContent}` : ''}`;
	}

	/* ---- search ---- */

	search(text) {
		const input = $('search');

		input.removeAttribute('aria-invalid');
		$('matched').value = '';
		this.pattern = null;
		if (text) {
			try {
				this.pattern = new RegExp(
					text,
					/\p{Lu}/u.test(text.replace(/\\./g, '')) ? 'gu' : 'giu',
				);
			} catch (e) {
				input.setAttribute('aria-invalid', 'true');
				$('matched').value = 'not a regular expression';
			}
		}
		if (this.pattern) {
			let lines = 0,
				files = 0;

			for (const f of this.profile.files) {
				const here = (f.text || []).reduce(
					(n, l) => n + (l.search(this.pattern) >= 0),
					0,
				);

				lines += here;
				files += here > 0;
			}
			$('matched').value = `${plural(lines, 'line')} in ${plural(files, 'file')}`;
		}
		this.draw();
	}

	/* The next line that matches, behind the current one, in later files, then from the start. */
	findNext() {
		const { files } = this.profile,
			start = files.indexOf(this.file);

		if (!this.pattern) return;
		for (let i = 0; i <= files.length; i++) {
			const f = files[(start + i) % files.length],
				from = i ? 0 : this.current;
			const at = (f.text || []).findIndex(
				(l, n) => n >= from && l.search(this.pattern) >= 0,
			);

			if (at < 0) continue;
			if (f !== this.file) this.open(f, at + 1);
			else this.goTo(at + 1);
			return;
		}
	}

	recolour() {
		this.colours = [];
		this.showFiles();
		if (this.file) this.draw();
		const steps = [0, 0.25, 0.5, 0.75, 1].map((t) => this.colour(t));

		document.querySelector('#legend .ramp').style.background =
			`linear-gradient(to right, ${steps.join(', ')})`;
	}
}
