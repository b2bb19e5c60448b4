/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ---- controls ---- */

function gilControls(matrix) {
	const by = (what) => {
		matrix.by = what;
		matrix.kept = false;
		matrix.show();
	};
	const { processes } = matrix.waits.meta;

	$('by-threads').addEventListener('click', () => by('threads'));
	$('by-lines').addEventListener('click', () => by('lines'));
	put(
		$('process'),
		...processes.map((p, i) => el('option', { value: String(i) }, printable(processName(p)))),
	);
	$('process-control').hidden = processes.length < 2;
	$('process').addEventListener('change', (e) => matrix.open(+e.target.value));
	return () => by(matrix.by === 'threads' ? 'lines' : 'threads');
}

function gilKeyboard(matrix, switchBy, help) {
	const keys = {
		l: switchBy,
		n: () => matrix.open(matrix.number + 1),
		p: () => matrix.open(matrix.number - 1),
		d: () => theme.toggle(),
		'?': help,
	};

	document.addEventListener('keydown', (e) => {
		const { cell } = document.activeElement?.dataset ?? {};

		if (e.ctrlKey || e.metaKey || e.altKey || $('help').open || isTyping()) return;
		if (e.key === 'Escape') matrix.release();
		else if (/^Arrow/.test(e.key) && document.activeElement !== $('side')) matrix.move(e.key);
		else if (e.key === 'Enter' && cell) matrix.keep(...matrix.at);
		else if (keys[e.key]) keys[e.key]();
		else return;
		e.preventDefault();
	});
}

function showRamp(matrix) {
	const steps = [0.02, 0.25, 0.5, 0.75, 1].map((t) => matrix.colour(t, 1));

	document.querySelector('#legend .ramp').style.background =
		`linear-gradient(to right, ${steps.join(', ')})`;
}

start((reader) => {
	const waits = new Waits(reader),
		matrix = new Matrix(waits),
		{ meta } = waits,
		title = meta.title || (meta.processes.length === 1 && meta.processes[0].comm) || 'GIL';

	report.matrix = matrix;
	$('title').textContent = `Waits for the GIL: ${printable(title)}`;
	document.title = `${printable(title)}: GIL – tachbpf`;
	showRamp(matrix);
	if (!meta.processes.length) return;
	gilKeyboard(matrix, gilControls(matrix), startHelp());
	matrix.open(0);
	theme.listeners.push(() => {
		showRamp(matrix);
		const { at, kept } = matrix;

		matrix.draw();
		matrix.kept = kept;
		matrix.select(...at);
	});
});
