/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the rest of Heatmap: the list of files, by whose they are ---- */

Object.assign(Heatmap.prototype, {
	showFiles() {
		const filter = $('file-filter').value.toLowerCase(),
			files = this.profile.files.filter((f) =>
				f.name.toLowerCase().includes(filter),
			),
			shown = files.slice(0, FILE_ROWS),
			rows = [];

		for (const owner of Object.keys(OWNERS)) {
			const own = files.filter((f) => f.owner === owner);

			if (!own.length) continue;
			rows.push(this.groupRow(owner, own));
			if (!this.folded.has(owner) || filter)
				rows.push(
					...shown
						.filter((f) => f.owner === owner)
						.map((f) => this.fileRow(f)),
				);
		}
		put($('files'), ...rows);
		$('more').hidden = files.length <= FILE_ROWS;
		$('more').textContent =
			`and ${count(files.length - FILE_ROWS)} more; filter to see them`;
	},

	/* Selfs add up, totals do not: a stack may be in several files. */
	groupRow(owner, files) {
		const self = files.reduce((sum, f) => sum + f.self, 0),
			all = this.profile.meta.samples;
		const fold = () => {
			if (!this.folded.delete(owner)) this.folded.add(owner);
			this.showFiles();
			$('files').querySelector(`[data-owner="${owner}"]`).focus();
		};

		return el(
			'li',
			{ className: 'owner' },
			el(
				'button',
				{
					'data-owner': owner,
					'aria-expanded': this.folded.has(owner) ? 'false' : 'true',
					title: 'Show or hide these files',
					onclick: fold,
				},
				el('span', { className: 'name' }, OWNERS[owner]),
				el('span', { className: 'number' }, `self ${percent(self, all)}`),
				el('span', { className: 'dir' }, plural(files.length, 'file')),
			),
		);
	},

	fileRow(f) {
		const slash = f.name.lastIndexOf('/'),
			all = this.profile.meta.samples,
			bar = el('i');

		bar.style.width = `${(f.total / this.mostTotal) * 100}%`;
		bar.style.background = theme.dark ? oklch(0.68, 0.13, 50) : oklch(0.7, 0.15, 45);
		return el(
			'li',
			null,
			el(
				'button',
				{
					title: f.name,
					onclick: () => this.open(f),
					'aria-current': f === this.file ? 'true' : null,
				},
				el('span', { className: 'name' }, f.name.slice(slash + 1) || f.name),
				el('span', { className: 'number' }, percent(f.total, all)),
				el('span', { className: 'dir' }, slash > 0 ? f.name.slice(0, slash) : ''),
				el('span', { className: 'number dir' }, `self ${percent(f.self, all)}`),
				el('span', { className: 'share' }, bar),
			),
		);
	},
});
