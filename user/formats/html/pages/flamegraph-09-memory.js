/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- what all processes held when, in place of the timeline ---- */

class MemoryChart {
	/* held: of each process: { start_us, width_us, bytes: the highest value of each step } */
	constructor(held) {
		const first = Math.min(...held.map((h) => h.start_us)),
			end = Math.max(...held.map((h) => h.start_us + h.width_us * h.bytes.length));

		this.width = Math.max(...held.map((h) => h.width_us));
		this.sums = new Float64Array(Math.ceil((end - first) / this.width));
		for (const h of held) {
			const own = new Float64Array(this.sums.length);

			h.bytes.forEach((bytes, i) => {
				const at = Math.floor((h.start_us - first + i * h.width_us) / this.width);

				own[at] = Math.max(own[at], bytes);
			});
			own.forEach((bytes, i) => (this.sums[i] += bytes));
		}
		this.width /= 1e6;
		this.peak = this.sums.indexOf(this.sums.reduce((a, b) => Math.max(a, b)));
		this.canvas = $('time-canvas');
		this.say();
		this.listen();
		new ResizeObserver(() => this.resize()).observe($('lanes'));
	}

	say() {
		const { sums, peak } = this,
			words = `Held over time: ${scaled(sums.at(-1), SIZES)} at the end, peak ${scaled(sums[peak], SIZES)} at ${this.timeText(peak)}`;

		$('time-range').value = words;
		$('timeline').setAttribute('aria-label', 'Held memory over time');
		for (const name of ['tabindex', 'aria-roledescription', 'aria-describedby'])
			this.canvas.removeAttribute(name);
		this.canvas.setAttribute('role', 'img');
		this.canvas.setAttribute('aria-label', words);
		this.canvas.style.cursor = 'default';
		$('lane-names').hidden = true;
	}

	timeText(at) {
		return at ? seconds(+(at * this.width).toPrecision(3)) : '0';
	}

	resize() {
		this.pixels = $('lanes').clientWidth;
		if (!this.pixels) return;
		showAxis(this.sums.length * this.width, this.pixels);
		this.paint();
	}

	paint() {
		const { canvas, sums, pixels: w } = this,
			h = small.matches ? 56 : 84,
			ratio = devicePixelRatio || 1,
			ctx = canvas.getContext('2d'),
			css = getComputedStyle(document.documentElement),
			y = (bytes) => h - 2 - (bytes / (sums[this.peak] || 1)) * (h - 20);

		if (!w) return;
		canvas.width = Math.round(w * ratio);
		canvas.height = Math.round(h * ratio);
		canvas.style.width = `${w}px`;
		canvas.style.height = `${h}px`;
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		ctx.beginPath();
		ctx.moveTo(0, h);
		sums.forEach((bytes, i) => {
			ctx.lineTo((i / sums.length) * w, y(bytes));
			ctx.lineTo(((i + 1) / sums.length) * w, y(bytes));
		});
		ctx.lineTo(w, h);
		ctx.fillStyle = ctx.strokeStyle = css.getPropertyValue('--accent');
		ctx.globalAlpha = 0.25;
		ctx.fill();
		ctx.globalAlpha = 1;
		ctx.stroke();
		ctx.font = `12px ${FONTS}`;
		ctx.fillStyle = css.getPropertyValue('--text');
		const text = scaled(sums[this.peak], SIZES),
			x = ((this.peak + 0.5) / sums.length) * w - ctx.measureText(text).width / 2;

		ctx.fillText(text, Math.max(2, Math.min(x, w - ctx.measureText(text).width - 2)), 12);
	}

	listen() {
		this.canvas.addEventListener('pointermove', (e) => {
			const box = this.canvas.getBoundingClientRect(),
				at = Math.floor(((e.clientX - box.left) / this.pixels) * this.sums.length);

			if (!(at in this.sums)) return;
			put(
				$('tip'),
				el('div', { className: 'name' }, scaled(this.sums[at], SIZES)),
				el('div', { className: 'where' }, `held at ${this.timeText(at)}`),
			);
			$('tip').hidden = false;
			placeTip(e.clientX, e.clientY);
		});
		this.canvas.addEventListener('pointerleave', () => ($('tip').hidden = true));
	}
}
