/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the rest of Graph: the picture as an SVG file ---- */

/* Text in XML 1.0, which two characters may not be in at all. */
const xml = (text) =>
	text
		.replace(/[\ufffe\uffff]/g, '\ufffd')
		.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);

Object.assign(Graph.prototype, {
	/* All rows that are zoomed to, those out of sight too; as wide as on the screen. */
	svg() {
		const width = this.pixels,
			top = ROW + 8,
			height = top + this.rows.length * ROW + 4,
			css = getComputedStyle(document.documentElement);
		const colour = (name) => xml(css.getPropertyValue(name).trim());
		const boxes = this.rows.flatMap((row, i) =>
			row.map((box) => this.svgBox(box, top + i * ROW, colour)),
		);

		return [
			`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
			`<rect width="100%" height="100%" fill="${colour('--panel')}"/>`,
			`<g font-family="${xml(FONTS)}" font-size="12" fill="${colour('--text')}">`,
			`<text x="4" y="${ROW - 4}" font-weight="600">${xml($('title').textContent)}</text>`,
			...boxes,
			'</g></svg>\n',
		].join('\n');
	},

	svgBox(box, y, colour) {
		const rest = box.node === REST,
			label = rest ? -1 : this.view.label[box.node],
			name = rest ? this.restName(box.cnt) : this.nodeName(box.node),
			fill = rest ? colour('--raised') : this.svgFill(box.node, label, colour),
			where = this.where(label),
			w = Math.max(0.1, box.w - (box.w > 2.5 ? 0.8 : 0)),
			said = rest
				? ''
				: `${where ? ` (${where})` : ''}: ${this.sharesText(box.node)}`,
			text = box.w >= TEXT_MIN ? this.cutName(name, box.w) : '';

		return (
			`<g><title>${xml(name + said)}</title>` +
			`<rect x="${box.x.toFixed(2)}" y="${y}" width="${w.toFixed(2)}" height="${ROW - 1}" fill="${fill}"/>` +
			(text
				? `<text x="${(box.x + 4).toFixed(2)}" y="${y + ROW / 2 + 4}">${xml(text)}</text>`
				: '') +
			'</g>'
		);
	},

	svgFill(node, label, colour) {
		return this.matches && this.matches[label] ? colour('--match') : this.fill(node);
	},

	saveSvg() {
		const url = URL.createObjectURL(new Blob([this.svg()], { type: 'image/svg+xml' })),
			title = $('title').textContent.replace(/\.(tach|bin)$/, ''),
			name = title.replace(/[^\w.-]+/g, '-').slice(0, 100);

		el('a', { href: url, download: `${name || 'flamegraph'}.svg` }).click();
		setTimeout(() => URL.revokeObjectURL(url), 60000);
	},
});
