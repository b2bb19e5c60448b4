/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the rest of Graph: text around the picture, and the table of functions ---- */

/* The end of a path, from a slash on if there is one, in at most so many characters. */
function ending(path, room) {
	if (path.length <= room) return path;
	const tail = path.slice(1 - room),
		slash = tail.indexOf('/');

	return `…${slash > 0 ? tail.slice(slash) : tail}`;
}

/* Put a text on the clipboard. Returns whether the browser has done it. */
async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		return false;
	}
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
			`${this.name(label)}${where ? ` (${where})` : ''}: ${this.sharesText(node)}`;
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

		for (let n = node; n > 0; n = this.view.parent[n]) {
			const where = this.where(this.view.label[n]);

			lines.push(this.name(this.view.label[n]) + (where ? ` (${where})` : ''));
		}
		return (this.inverted ? lines.reverse() : lines).join('\n');
	},

	async copyStack() {
		const text = this.stackText(this.current()),
			cnt = text ? text.split('\n').length : 0;

		$('status').value = !cnt
			? 'No frame is chosen: there is no stack to copy'
			: (await copyText(text))
				? `Copied a stack of ${plural(cnt, 'frame')}`
				: 'The browser does not let this page copy';
	},

	showCrumbs() {
		const chain = [];

		for (let n = this.zoom; n >= 0; n = this.view.parent[n]) chain.push(n);
		const items = chain.reverse().map((n) => {
			const name = this.name(this.view.label[n]),
				here = n === this.zoom && this.from < 0;

			return el(
				'li',
				null,
				el(
					'button',
					{
						title: name,
						onclick: () => this.zoomTo(n),
						'aria-current': here ? 'true' : null,
					},
					name,
				),
			);
		});

		if (this.from >= 0) {
			const { zoom, from } = this,
				cnt = this.view.kids(zoom).filter((k) => this.view.width[k]).length;
			const name = this.restName(cnt - from);

			items.push(
				el(
					'li',
					null,
					el(
						'button',
						{
							title: name,
							'aria-current': 'true',
							onclick: () => this.zoomTo(zoom, from),
						},
						name,
					),
				),
			);
		}
		$('crumbs').firstElementChild.replaceChildren(...items);
	},

	showTip(x, y) {
		const tip = $('tip'),
			{ hover, view } = this;

		tip.hidden = !hover;
		if (!hover) return;
		if (hover.box.node === REST) {
			tip.replaceChildren(
				el(
					'div',
					{ className: 'where' },
					`${plural(hover.box.cnt, 'frame')} too narrow to draw: click to see them`,
				),
			);
		} else {
			const node = hover.box.node,
				label = view.label[node];

			tip.replaceChildren(
				el('div', { className: 'name' }, this.name(label)),
				el('div', { className: 'where mono' }, this.where(label)),
				this.diff ? this.tipDiff(node) : this.tipTable(node),
			);
		}
		const box = tip.getBoundingClientRect();

		tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
		tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
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

	/* The functions in the zoomed frame: its share of the stacks, all that they call. */
	functions() {
		const { tree, view, zoom } = this;

		if (!zoom) return tree.functions();
		if (!this.inverted) return tree.functions(zoom);
		const ends = new Uint8Array(tree.cnt);

		view.ends(zoom).forEach((node) => (ends[node] = 1));
		return tree.functions(0, ends);
	},

	tableRows() {
		const f = this.functions(),
			rows = [];

		for (let l = 0; l < this.tree.labelCnt; l++) {
			if ((!f.a[l] && !f.b[l]) || this.tree.kind(l) === 'group') continue;
			rows.push({
				label: l,
				selfA: f.selfA[l],
				selfB: f.selfB[l],
				a: f.a[l],
				b: f.b[l],
				self: this.diff
					? f.selfB[l] - f.selfA[l] * this.scaleA
					: f.selfA[l],
				total: this.diff ? f.b[l] - f.a[l] * this.scaleA : f.a[l],
			});
		}
		return rows;
	},

	showTable() {
		if ($('side').hidden) return;
		const { key, down } = this.sort,
			sign = down ? 1 : -1;
		const size = this.diff ? Math.abs : (v) => v;
		const rows = this.tableRows();

		if (key === 'name')
			rows.sort(
				(x, y) => sign * (this.name(x.label) < this.name(y.label) ? -1 : 1),
			);
		else
			rows.sort(
				(x, y) =>
					sign * (size(y[key]) - size(x[key])) ||
					size(y.total) - size(x.total) ||
					x.label - y.label,
			);
		const shown = this.matches ? rows.filter((r) => this.matches[r.label]) : rows;

		this.table = shown;
		$('scope').hidden = !this.zoom;
		$('scope').textContent = `In ${this.name(this.view.label[this.zoom])}`;
		this.showHead();
		$('side')
			.querySelector('tbody')
			.replaceChildren(
				...shown.slice(0, TABLE_ROWS).map((r) => this.tableRow(r)),
			);
		$('more').hidden = shown.length <= TABLE_ROWS;
		$('more').textContent =
			`and ${count(shown.length - TABLE_ROWS)} more; search to see them`;
	},

	showHead() {
		const titles = this.diff
			? { self: 'Self ±', total: 'Total ±' }
			: { self: 'Self', total: 'Total' };

		titles.name = this.byFunction ? 'Function' : 'Line';
		$('side')
			.querySelector('thead tr')
			.replaceChildren(
				...Object.entries(titles).map(([key, title]) =>
					el(
						'th',
						{
							scope: 'col',
							className: key === 'name' ? '' : 'number',
							'aria-sort':
								this.sort.key === key
									? this.sort.down
										? 'descending'
										: 'ascending'
									: null,
						},
						el(
							'button',
							{
								onclick: () => {
									this.sort = {
										key,
										down:
											this.sort
												.key ===
											key
												? !this
														.sort
														.down
												: true,
									};
									this.showTable();
									this.changed?.();
								},
							},
							title +
								(this.sort.key === key
									? this.sort.down
										? ' ↓'
										: ' ↑'
									: ''),
						),
					),
				),
			);
	},

	tableRow(r) {
		const where = this.where(r.label),
			all = this.view.a[this.zoom];
		const swatch = el('span', { className: 'swatch' });
		const number = (n) =>
			this.diff
				? el(
						'td',
						{
							className: `number ${n > 0 ? 'up' : n < 0 ? 'down' : ''}`,
						},
						this.deltaText(n),
					)
				: el(
						'td',
						{ className: 'number' },
						percent(n, all),
						el('small', null, this.unit.text(n)),
					);

		swatch.style.background = this.diff
			? this.changeColour(this.change(r.a, r.b))
			: this.colour(r.label);
		return el(
			'tr',
			null,
			number(r.self),
			number(r.total),
			el(
				'td',
				null,
				el(
					'button',
					{
						title: `${this.name(r.label)}\n${where}`,
						onclick: () => this.find(r.label),
					},
					swatch,
					this.name(r.label),
					el('small', null, ending(where, 46)),
				),
			),
		);
	},

	/* Search for exactly this function; a second time: no more. */
	find(label) {
		this.namesOnly = false;
		const exact = `^${this.searchText(label).replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}$`;

		$('search').value = $('search').value === exact ? '' : exact;
		this.search($('search').value);
		showControls(this);
		for (const tr of $('side').querySelectorAll('tbody tr'))
			tr.removeAttribute('aria-current');
		if (this.matches) {
			const at = this.table.findIndex((r) => r.label === label);

			$('side')
				.querySelectorAll('tbody tr')
				[at]?.setAttribute('aria-current', 'true');
		}
	},
});
