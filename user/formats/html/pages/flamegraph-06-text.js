/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the rest of Graph: text around the picture ---- */

/* Put a text on the clipboard. Returns whether the browser has done it. */
async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		return false;
	}
}

/* The end of a qualified name: "run" of "Pool.<locals>.run". */
function shortName(name) {
	const parts = name.replaceAll('.<locals>', '').split('.');

	return /[(:/ ]/.test(parts.slice(0, -1).join()) ? name : parts.slice(/^</.test(parts.at(-1)) ? -2 : -1).join('.');
}

/* Near the mouse, and inside the window. */
function placeTip(x, y) {
	const tip = $('tip'),
		box = tip.getBoundingClientRect();

	tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
	tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
}

Object.assign(Graph.prototype, {
	weightText(n, whole) {
		const time = this.unit.time(n);

		return `${this.unit.text(n)}${time ? ` · ${time}` : ''} · ${percent(n, whole)}`;
	},

	showStatus() {
		const node = this.current(),
			{ view } = this,
			label = view.label[node];
		const where = label < 0 ? '' : this.where(label);

		$('status').value =
			`${this.nodeName(node)}${where ? ` (${where})` : ''}: ${this.sharesText(node)}`;
	},

	sharesText(node) {
		const { view } = this,
			a = this.weightText(view.a[node], view.a[0]);

		return this.diff
			? `before ${a}, after ${this.weightText(view.b[node], view.b[0])}`
			: `${this.unit.isSamples ? 'samples ' : ''}${a}`;
	},

	/* The frame that the status line is about. */
	current() {
		return this.hover?.box.node >= 0
			? this.hover.box.node
			: (this.selected ?? this.zoom);
	},

	/* A line for each frame of the stack that ends at a node, the innermost first. */
	stackText(node) {
		const lines = [];

		for (let n = node; n > 0 || (n === 0 && this.isAround); n = this.view.parent[n]) {
			const where = this.where(this.view.label[n]);

			lines.push(this.nodeName(n) + (where ? ` (${where})` : ''));
		}
		const outward = this.isAround ? this.view.up[node] : this.inverted;

		return (outward ? lines.reverse() : lines).join('\n');
	},

	async copyStack() {
		const text = this.stackText(this.current()),
			cnt = text ? text.split('\n').length : 0;

		$('status').value = !cnt
			? 'No frame is selected: there is no stack to copy'
			: (await copyText(text))
				? `Copied a stack of ${plural(cnt, 'frame')}`
				: 'The browser does not allow this page to copy';
	},

	showCrumbs() {
		const chain = [];

		if (this.isAround) {
			this.showAroundCrumbs();
			return;
		}
		for (let n = this.zoom; n >= 0; n = this.view.parent[n]) chain.push(n);
		const items = chain.reverse().map((n) => [this.name(this.view.label[n]), () => this.zoomTo(n)]);

		if (this.from >= 0) {
			const { zoom, from } = this,
				cnt = this.view.kids(zoom).filter((k) => this.view.width[k]).length;

			items.push([this.restName(cnt - from), () => this.zoomTo(zoom, from)]);
		}
		this.putCrumbs(items);
	},

	/* All, then the functions in the order in which they were looked at. */
	showAroundCrumbs() {
		const names = ['all', ...this.around.map((code) => this.tree.func(this.labelsOf(code)?.indexOf(1) ?? -1))];

		this.putCrumbs(
			names.map((name, i) => [
				name || '(not here)',
				() => {
					this.around.length = i;
					this.showAround();
				},
			]),
		);
	},

	/* Names and what a click does; whole names if there is room. The last one is always in sight. */
	putCrumbs(items) {
		const list = $('crumbs').firstElementChild;
		const show = (text) =>
			put(
				list,
				...items.map(([name, onclick], i) => {
					const here = i + 1 === items.length ? 'true' : null;

					return el(
						'li',
						null,
						el('button', { title: name, onclick, 'aria-current': here }, text(name)),
					);
				}),
			);

		$('crumbs').hidden = small.matches && items.length < 2;
		show((name) => name);
		if (list.scrollWidth > list.clientWidth) show((name) => middleCut(shortName(name), 32));
		list.scrollLeft = list.scrollWidth;
	},

	showTip(x, y) {
		const tip = $('tip'),
			{ hover, view } = this;

		tip.hidden = !hover;
		if (!hover) return;
		if (hover.box.node === REST) {
			put(
tip,
				el(
					'div',
					{ className: 'where' },
					`${plural(hover.box.cnt, 'frame')} too narrow to draw${this.isAround ? '' : ': click to see them'}`,
				),
			);
		} else {
			put(tip, ...this.details(hover.box.node));
		}
		placeTip(x, y);
	},

	/* What a frame is, and what it has: elements. */
	details(node) {
		const label = this.view.label[node],
			source = this.sourceOf(label);

		return [
			el('div', { className: 'name' }, this.nodeName(node)),
			el('div', { className: 'where mono' }, this.where(label)),
			source &&
				el(
					'div',
					{ className: 'code mono', title: 'The line with the most' },
					el('span', null, `${source.line} `),
					source.text,
				),
			this.diff ? this.tipDiff(node) : this.tipTable(node),
			opcodesText(this.tree.labelOpcodes.get(label)),
		];
	},

	/* Of a label's lines whose text the page has: that with the most. { line, text }; null: none. */
	sourceOf(label) {
		const { model, tree } = this,
			{ sources } = model.meta;

		if (label < 0 || !sources || tree.kind(label) !== 'python') return null;
		if (!tree.labelLines) {
			tree.labelLines = new Map();
			model.frameWeights.forEach((weight, f) => {
				const text = sources[model.str(model.file[f])]?.[model.line[f]],
					l = tree.labelOf[f];

				if (typeof text === 'string' && !(tree.labelLines.get(l)?.weight >= weight))
					tree.labelLines.set(l, { weight, line: model.line[f], text: printable(text.trim()) });
			});
		}
		return tree.labelLines.get(label) ?? null;
	},

	/* ---- the sheet: what a tap shows ---- */

	/* Where it does not hide the frame, which is at x, y. */
	showSheet(node, x, y) {
		const sheet = $('sheet'),
			button = (name, onclick) => el('button', { onclick }, name),
			label = this.view.label[node];

		this.sheetNode = node;
		put(
			sheet,
			el('button', { className: 'icon', 'aria-label': 'Close', onclick: () => this.hideSheet() }, '×'),
			...this.details(node),
			el(
				'div',
				{ className: 'group' },
				node > 0 && !this.isAround ? button('Zoom', () => this.zoomTo(node)) : null,
				label >= 0 && this.tree.kind(label) !== 'group'
					? button('Callers and callees', () => this.goAround(label))
					: null,
				button('Copy stack', () => this.copyStack()),
			),
		);
		sheet.hidden = false;
		const box = sheet.getBoundingClientRect();

		sheet.classList.toggle('high', y > innerHeight - box.height - ROW);
		sheet.classList.toggle('left', x > innerWidth / 2);
	},

	hideSheet() {
		$('sheet').hidden = true;
		this.sheetNode = null;
	},

	/* The first tap on a frame says what it is, the second zooms to it. */
	tap({ box }, x, y) {
		if (box.node === this.sheetNode) {
			this.zoomTo(box.node);
			this.hideSheet();
			return;
		}
		this.selected = box.node;
		this.showSheet(box.node, x, y);
		this.paint();
		this.showStatus();
	},

	tipTable(node) {
		const { view } = this,
			parent = view.parent[node],
			all = view.a[0];
		const row = (name, n, whole) =>
			el(
				'tr',
				null,
				el('th', null, name),
				el('td', null, this.unit.text(n)),
				el('td', null, percent(n, whole)),
				el('td', null, this.unit.time(n) || ''),
			);

		if (this.isAround) return el('table', null, row('of the function’s', view.a[node], all));
		return el(
			'table',
			null,
			row(
				this.inverted && parent >= 0 ? 'in this stack' : 'total',
				view.a[node],
				all,
			),
			!this.inverted || parent === 0 ? row('self', view.selfA[node], all) : null,
			parent > 0
				? row(
						this.inverted
							? 'of the function it calls'
							: 'of its caller',
						view.a[node],
						view.a[parent],
					)
				: null,
		);
	},

	tipDiff(node) {
		const { view } = this;
		const row = (name, n, whole) =>
			el(
				'tr',
				null,
				el('th', null, name),
				el('td', null, this.unit.text(n)),
				el('td', null, percent(n, whole)),
			);
		const delta = view.b[node] - view.a[node] * this.scaleA;

		return el(
			'table',
			null,
			row('before', view.a[node], view.a[0]),
			row('after', view.b[node], view.b[0]),
			el(
				'tr',
				null,
				el('th', null, this.shares ? 'change of share' : 'change'),
				el(
					'td',
					{ className: delta > 0 ? 'up' : 'down' },
					this.deltaText(delta),
				),
			),
		);
	},

	deltaText(delta) {
		const sign = delta > 0 ? '+' : delta < 0 ? '−' : '±';

		if (this.shares) return `${sign}${percent(Math.abs(delta), this.view.b[0])}`;
		return sign + this.unit.text(Math.abs(delta));
	},
});
