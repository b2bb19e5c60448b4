/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- controls ---- */

function controls(map) {
	const by = (key) => {
		map.by = key;
		$('by-self').setAttribute('aria-pressed', key === 'self');
		$('by-total').setAttribute('aria-pressed', key === 'total');
		map.recolour();
	};

	$('by-self').addEventListener('click', () => by('self'));
	$('by-total').addEventListener('click', () => by('total'));
	$('scale').addEventListener('change', (e) => {
		map.scale = e.target.value;
		map.recolour();
	});
	$('hottest').addEventListener('click', () => map.goTo(map.hottest()));
	$('next').addEventListener('click', () => map.step(1));
	$('previous').addEventListener('click', () => map.step(-1));
	$('file-filter').addEventListener('input', () => map.showFiles());
	$('search').addEventListener('input', () => map.search($('search').value));
	let waiting = 0;

	$('scroller').addEventListener('scroll', () => {
		waiting ||= requestAnimationFrame(() => {
			waiting = 0;
			map.draw();
		});
	});
	$('map').addEventListener('pointerdown', (e) => {
		const s = $('scroller');

		s.scrollTop = (e.offsetY / map.mapScale) * ROW - s.clientHeight / 2;
	});
	new ResizeObserver(() => map.draw()).observe($('scroller'));
	return () => by(map.by === 'self' ? 'total' : 'self');
}

function keyboard(map, switchBy, help) {
	const focus = (id) => () => {
		$(id).focus();
		$(id).select();
	};
	const keys = {
		h: () => map.goTo(map.hottest()),
		n: () => map.step(1),
		p: () => map.step(-1),
		j: () => map.stepFile(1),
		k: () => map.stepFile(-1),
		s: switchBy,
		'/': focus('search'),
		f: focus('file-filter'),
		d: () => theme.toggle(),
		'?': help,
	};

	document.addEventListener('keydown', (e) => {
		if (e.ctrlKey || e.metaKey || e.altKey || $('help').open) return;
		if (e.key === 'Escape') {
			e.preventDefault();
			$('search').value = '';
			map.search('');
			$('scroller').focus();
		} else if (e.key === 'Enter' && document.activeElement === $('search')) {
			map.findNext();
		} else if (!isTyping() && keys[e.key]) {
			e.preventDefault();
			keys[e.key]();
		}
	});
}

start((reader) => {
	const profile = new Profile(reader),
		map = new Heatmap(profile);
	const { meta } = profile;
	const title =
		meta.title || (meta.processes.length === 1 && meta.processes[0].comm) || 'Heat map';

	report.map = map;
	$('title').textContent = printable(title);
	document.title = `${printable(title)} – tachbpf`;
	showFacts(meta, [
		[map.unit.name, map.unit.text(meta.samples)],
		['files', count(profile.files.length)],
	]);
	map.recolour();
	theme.listeners.push(() => map.recolour());
	if (!profile.files.length) {
		$('file-name').textContent = 'No samples in source files.';
		return;
	}
	map.open(profile.hottest);
	keyboard(map, controls(map), startHelp());
});
