/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Zoom and search; without this the picture is complete, but stands still. */
(() => {
	'use strict';
	const root = document.currentScript.ownerSVGElement,
		find = (name) => root.querySelector(`.${name}`),
		status = find('status'),
		facts = status.textContent,
		reset = find('reset'),
		NEAR = 5e-7,
		TEXT_PX = 24;
	const frames = [...root.querySelectorAll('.f')].map((e) => {
		const x = parseFloat(e.getAttribute('x')),
			w = parseFloat(e.getAttribute('width')),
			y = Number(e.getAttribute('y')),
			[title, , text] = e.children;

		return { e, x, y, w, text, now: w, said: title.textContent };
	});
	let input = null;

	/* Names only where there is room for some letters. */
	function fit() {
		const px = root.getBoundingClientRect().width;

		for (const f of frames)
			f.text.style.display = (f.now * px) / 100 < TEXT_PX ? 'none' : 'inline';
	}

	/* What is in the frame fills the width, and so do its callers. */
	function zoom(to) {
		for (const f of frames) {
			const inside =
					f.y >= to.y && f.x > to.x - NEAR && f.x + f.w < to.x + to.w + NEAR,
				above = f.y < to.y && f.x < to.x + NEAR && f.x + f.w > to.x + to.w - NEAR;

			f.e.style.display = inside || above ? 'inline' : 'none';
			f.e.classList.toggle('above', above);
			f.now = above ? 100 : (f.w / to.w) * 100;
			f.e.setAttribute('x', above ? '0' : `${((f.x - to.x) / to.w) * 100}%`);
			f.e.setAttribute('width', `${f.now}%`);
		}
		reset.style.display = to === frames[0] ? 'none' : 'inline';
		fit();
	}

	function pattern(text) {
		try {
			return new RegExp(text, 'i');
		} catch {
			return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
		}
	}

	/* Marks the frames whose name or file matches; a share counts once, however deep. */
	function search(text) {
		const wanted = text ? pattern(text) : null,
			hits = [];
		let sum = 0,
			end = -1;

		for (const f of frames) {
			const hit = wanted !== null && wanted.test(f.said.split('\n')[0]);

			f.e.classList.toggle('hit', hit);
			if (hit) hits.push(f);
		}
		hits.sort((a, b) => a.x - b.x || b.w - a.w);
		for (const f of hits) {
			if (f.x + f.w <= end + NEAR) continue;
			sum += f.x + f.w - Math.max(f.x, end);
			end = f.x + f.w;
		}
		find('matched').textContent = text ? `matched: ${sum.toFixed(2)} %` : '';
	}

	function close() {
		if (input) input.parentNode.remove();
		input = null;
		search('');
	}

	function ask() {
		if (!input) {
			const place = document.createElementNS(root.namespaceURI, 'foreignObject');

			input = document.createElementNS('http://www.w3.org/1999/xhtml', 'input');
			input.type = 'search';
			input.placeholder = 'function or file, a regular expression';
			input.setAttribute('aria-label', 'Search');
			input.style = 'width: 100%; box-sizing: border-box; font: inherit';
			input.addEventListener('input', () => search(input.value));
			for (const [name, value] of Object.entries({ x: 8, y: 26, width: 300, height: 26 }))
				place.setAttribute(name, value);
			place.append(input);
			root.append(place);
		}
		input.focus();
		input.select();
	}

	for (const f of frames) {
		f.e.addEventListener('click', () => zoom(f));
		f.e.addEventListener('mouseenter', () => {
			status.textContent = f.said.replace('\n', ': ');
		});
		f.e.addEventListener('mouseleave', () => {
			status.textContent = facts;
		});
	}
	reset.addEventListener('click', () => zoom(frames[0]));
	find('search').style.display = 'inline';
	find('search').addEventListener('click', ask);
	addEventListener('resize', fit);
	addEventListener('keydown', (event) => {
		if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
			event.preventDefault();
			ask();
		} else if (event.key === 'Escape') {
			if (input) close();
			else if (frames.length) zoom(frames[0]);
		}
	});
	fit();
})();
