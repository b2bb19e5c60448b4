/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- the rest of Graph: layout, boxes by row, each row from left to right; and painting ---- */

Object.assign(Graph.prototype, {
	layout() {
		const { view } = this;
		const chain = [];

		this.pixels = $('scroller').clientWidth;
		if (this.isAround) {
			this.layoutAround();
			this.finishLayout();
			return;
		}
		this.rows = [];
		for (let n = this.zoom; n >= 0; n = view.parent[n]) chain.push(n);
		chain.reverse();
		chain.forEach((n, depth) => {
			this.rows[depth] = [{ node: n, x: 0, w: this.pixels }];
		});
		if (view.width[this.zoom]) this.layoutBelow(chain.length - 1);
		this.finishLayout();
	},

	finishLayout() {
		const room = $('scroller').clientHeight;

		ROW = !small.matches ? 20 : this.rows.length * 40 <= room ? 40 : 28;
		$('sizer').style.height = `${this.rows.length * ROW + 4}px`;
		this.paint();
	},

	/* A row at a time, so that each is in order. */
	layoutBelow(depth) {
		const { view } = this;
		let scale = this.pixels / view.width[this.zoom];

		if (this.from >= 0) scale = this.layoutNarrow((this.rows[++depth] = []));
		for (let row = this.rows[depth]; row.length; row = this.rows[++depth]) {
			const below = [];

			for (const box of row)
				if (box.node >= 0) this.layoutKids(box, scale, below);
			if (!below.length) break;
			this.rows[depth + 1] = below;
		}
	},

	/*
	 * Of the zoomed node's children as many from this.from on as get a few pixels
	 * each, and a box for those that are left. Returns the scale.
	 */
	layoutNarrow(row) {
		const { view, from, zoom } = this;
		const kids = Array.from(view.kids(zoom)).filter((k) => view.width[k]);
		const end = Math.min(kids.length, from + Math.max(1, Math.floor(this.pixels / 4)));
		const left = kids.length - end,
			room = left ? this.pixels * 0.9 : this.pixels;
		const scale =
			room / kids.slice(from, end).reduce((sum, k) => sum + view.width[k], 0);
		let x = 0;

		for (const k of kids.slice(from, end)) {
			row.push({ node: k, x, w: view.width[k] * scale });
			x += view.width[k] * scale;
		}
		if (left)
			row.push({
				node: REST,
				x,
				w: this.pixels - x,
				cnt: left,
				parent: zoom,
				first: end,
			});
		return scale;
	},

	layoutKids(box, scale, below, kids = this.view.kids(box.node)) {
		const { view } = this;
		let x = box.x;

		for (let i = 0; i < kids.length; i++) {
			const w = view.width[kids[i]] * scale;

			if (w < MIN_WIDTH) {
				const first = i;
				let rest = 0,
					cnt = 0;

				for (; i < kids.length && view.width[kids[i]]; i++, cnt++)
					rest += view.width[kids[i]] * scale;
				if (rest >= MIN_WIDTH)
					below.push({
						node: REST,
						x,
						w: rest,
						cnt,
						parent: box.node,
						first,
					});
				return;
			}
			below.push({ node: kids[i], x, w });
			x += w;
		}
	},

	/* ---- painting: the rows that can be seen ---- */

	paint() {
		if (this.painting) return;
		this.painting = requestAnimationFrame(() => {
			this.painting = 0;
			this.paintNow();
		});
	},

	paintNow() {
		const scroller = $('scroller'),
			ratio = devicePixelRatio || 1;
		const w = scroller.clientWidth,
			h = scroller.clientHeight,
			{ ctx, canvas } = this;

		if (
			canvas.width !== Math.round(w * ratio) ||
			canvas.height !== Math.round(h * ratio)
		) {
			canvas.width = Math.round(w * ratio);
			canvas.height = Math.round(h * ratio);
			canvas.style.width = `${w}px`;
			canvas.style.height = `${h}px`;
		}
		const css = getComputedStyle(document.documentElement);

		this.css = {
			panel: css.getPropertyValue('--panel'),
			text: css.getPropertyValue('--text'),
			quiet: css.getPropertyValue('--quiet'),
			match: css.getPropertyValue('--match'),
			accent: css.getPropertyValue('--accent'),
			raised: css.getPropertyValue('--raised'),
		};
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		ctx.fillStyle = this.css.panel;
		ctx.fillRect(0, 0, w, h);
		ctx.font = `12px ${FONTS}`;
		ctx.textBaseline = 'middle';
		const top = scroller.scrollTop,
			first = Math.max(0, Math.floor(top / ROW));
		const last = Math.min(this.rows.length - 1, Math.floor((top + h) / ROW));

		for (let row = first; row <= last; row++)
			for (const box of this.rows[row]) this.paintBox(box, row, row * ROW - top);
		this.outline(this.isAround ? 0 : this.selected, top, 2);
		if (this.isAround) this.outline(this.selected, top, 1);
		if (this.hover?.box.node >= 0) this.outline(this.hover.box.node, top, 1);
		report.painted = true;
	},

	paintBox(box, row, y) {
		const { ctx, css } = this,
			gap = box.w > 2.5 ? 0.8 : 0;

		if (box.node === REST) {
			ctx.fillStyle = css.raised;
			ctx.fillRect(box.x, y, box.w - gap, ROW - 1);
			if (box.w >= TEXT_MIN)
				this.paintName(this.restName(box.cnt), box.x, y, box.w, css.quiet);
			return;
		}
		const label = this.view.label[box.node];
		const matched = this.matches && label >= 0 && this.matches[label];

		ctx.globalAlpha =
			this.matches && !matched ? 0.38 : row < this.zoomDepth() ? 0.6 : 1;
		ctx.fillStyle = matched ? css.match : this.fill(box.node);
		ctx.fillRect(box.x, y, box.w - gap, ROW - 1);
		ctx.globalAlpha = this.matches && !matched ? 0.65 : 1;
		if (box.w >= TEXT_MIN)
			this.paintName(
				this.nodeName(box.node),
				box.x,
				y,
				box.w,
				matched ? '#1d2530' : css.text,
			);
		ctx.globalAlpha = 1;
	},

	restName(cnt) {
		return `… ${plural(cnt, 'narrow frame')}`;
	},

	paintName(text, x, y, w, colour) {
		const { ctx } = this;

		ctx.fillStyle = colour;
		ctx.fillText(this.cutName(text, w), x + 4, y + ROW / 2 + 0.5);
	},

	/* As much of a name as a box of this width has room for. */
	cutName(text, w) {
		const { ctx } = this,
			room = w - 9;
		let width = this.textWidths.get(text);

		if (width === undefined) {
			width = ctx.measureText(
				text.length > 300 ? text.slice(0, 300) : text,
			).width;
			this.textWidths.set(text, width);
		}
		if (width > room) {
			let keep = Math.floor((Math.min(text.length, 300) * room) / width) - 1;

			while (keep > 0 && ctx.measureText(text.slice(0, keep) + '…').width > room)
				keep--;
			return keep < 1 ? '' : text.slice(0, keep) + '…';
		}
		return text;
	},

	outline(node, top, thickness) {
		const found = node === null ? null : this.boxOf(node);

		if (!found) return;
		const { ctx } = this,
			{ box, row } = found,
			inset = thickness / 2;

		ctx.strokeStyle = thickness > 1 ? this.css.accent : this.css.text;
		ctx.lineWidth = thickness;
		ctx.strokeRect(
			box.x + inset,
			row * ROW - top + inset,
			Math.max(1, box.w - thickness),
			ROW - 1 - thickness,
		);
	},

	zoomDepth() {
		let depth = 0;

		for (let n = this.zoom; n > 0; n = this.view.parent[n]) depth++;
		return depth;
	},

	depthOf(node) {
		let depth = 0;

		for (; node > 0; node = this.view.parent[node]) depth++;
		return depth;
	},

	rowOf(node) {
		const depth = this.depthOf(node);

		if (!this.isAround) return depth;
		return this.centreRow() + (this.view.up[node] ? -depth : depth);
	},

	boxOf(node) {
		const row = this.rowOf(node),
			box = this.rows[row]?.find((b) => b.node === node);

		return box ? { box, row } : null;
	},

	boxAt(x, y) {
		const row = Math.floor((y + $('scroller').scrollTop) / ROW),
			boxes = this.rows[row] || [];
		let low = 0,
			high = boxes.length - 1;

		while (low < high) {
			const middle = (low + high + 1) >> 1;

			if (boxes[middle].x <= x) low = middle;
			else high = middle - 1;
		}
		const box = boxes[low];

		return box && x >= box.x && x < box.x + box.w ? { box, row } : null;
	},
});
