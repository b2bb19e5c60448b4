/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the rest of Graph: the table of functions ---- */

Object.assign(Graph.prototype, {
	/* The functions in the zoomed frame: its share of the stacks, all that they call. */
	functions() {
		const { tree, view, zoom } = this;

		if (this.isAround) return tree.functions(0, view.below);
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
		$('scope').hidden = !this.zoom && !this.isAround;
		$('scope').textContent = this.isAround
			? `In stacks with ${this.nodeName(0)}`
			: `In ${this.name(this.view.label[this.zoom])}`;
		this.showHead();
		put(
			$('side').querySelector('tbody'),
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
		put(
			$('side').querySelector('thead tr'),
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
				el(
					'button',
					{
						className: 'around',
						title: 'Callers and callees (a)',
						'aria-label': `Callers and callees of ${this.name(r.label)}`,
						onclick: () => this.goAround(r.label),
					},
					'⇅',
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
