// SPDX-License-Identifier: Apache-2.0
// How steps are chosen and taken back, what is not shown, and what can be saved of what is shown.

// ---- steps ------------------------------------------------------------------------------------

// Whatever `change` does to the steps, the place in the graph is kept as far as it is still there.
function changeStacks(change) {
  change();
  applyState(new URLSearchParams(stateText().slice(1)));
  saveState(true);
}

const hasStep = (verb) => steps.some((step) => step.verb === verb);
const withoutVerb = (verb) => steps.filter((step) => step.verb !== verb);

function addStep(verb, what = '') {
  changeStacks(() => { steps = [...steps, { verb, what }]; });
}

function menuOfMethod(name, node) {
  if (node === 0 && !sandwich) return [];
  return [
    ...(parent === window ? [] : [['Over time', () => parent.postMessage({ jbpfMethod: name }, '*')]]),
    ['Callers and callees', () => setMethod(name)],
    ['Only stacks with it', () => addStep('only', name)],
    ['No stacks with it', () => addStep('without', name)],
    ['Hide it: its time is its caller\u2019s', () => addStep('hide', name)],
    ['Collapse its recursion', () => addStep('fold', name)],
  ];
}

function stepButton(text, title, action) {
  const button = document.createElement('button');
  button.textContent = `${text} \u2715`;
  button.title = title;
  button.addEventListener('click', action);
  return button;
}

function showSteps() {
  const buttons = steps.map((step) => stepButton(STEP_KINDS[step.verb].text(step.what), 'Take this back',
    () => changeStacks(() => { steps = steps.filter((other) => other !== step); })));
  if (sandwich)
    buttons.unshift(stepButton(`callers and callees of ${sandwich.name}`, 'Back to the whole graph (Escape)', endMethod));
  $('steps').replaceChildren(...buttons);
  $('steps').hidden = buttons.length === 0;
  for (const verb of SWITCHES) $(verb).checked = hasStep(verb);
  $('tiers').checked = splitsTiers;
  $('own').value = steps.filter(({ verb }) => verb === 'own').map(({ what }) => what).join(', ');
  showNotShown();
}

for (const verb of SWITCHES)
  $(verb).addEventListener('change', () => changeStacks(() => {
    steps = $(verb).checked ? [...steps, { verb, what: '' }] : withoutVerb(verb);
  }));
$('tiers').addEventListener('change', () => changeStacks(() => { splitsTiers = $('tiers').checked; }));
$('ownForm').addEventListener('submit', (event) => {
  event.preventDefault();
  const what = $('own').value.trim();
  changeStacks(() => { steps = what ? [...withoutVerb('own'), { verb: 'own', what }] : withoutVerb('own'); });
});

// ---- what is not shown ------------------------------------------------------------------------

function showNotShown() {
  const whole = notShown.reduce((sum, samples) => sum + samples, 0);
  const parts = placeNames.map((name, i) => ({ name, samples: notShown[i] }))
    .filter(({ samples }) => samples > 0).sort((a, b) => b.samples - a.samples);
  $('notShown').hidden = whole === 0;
  $('notShownText').textContent = `${showsWaiting ? 'Shown, too' : 'Not shown'}: ${formatAmount(whole)} ${isTime ? 'thread-seconds' : 'samples'} (` +
    `${parts.map(({ name, samples }) => `${name} ${formatAmount(samples)}`).join(', ')})`;
  $('waiting').textContent = showsWaiting ? 'Hide' : 'Show';
}

$('waiting').addEventListener('click', () => changeStacks(() => { showsWaiting = !showsWaiting; }));

// ---- export -----------------------------------------------------------------------------------

const SUFFIXES = ['', '_[k]', '_[j]', '_[1]', '_[0]', '_[i]']; // by kind, as in folded text

function foldedText() {
  const counts = new Map();
  forEachShownStack((stack, weight) => {
    const text = stack.map(frameOf).filter((frame) => kindOf[frame] !== KIND_HIDDEN)
      .map((frame) => names[frame] + (SUFFIXES[kindOf[frame]] || '')).join(';');
    counts.set(text, (counts.get(text) || 0) + weight);
  });
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([text, count]) => `${text} ${count}\n`).join('');
}

// A text that a spreadsheet would run as a formula gets a quote in front.
function csvCell(text) {
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}

function tableText() {
  const { rows, whole } = methodRows();
  const amount = (samples) => String(isTime ? secondsOf(samples) : samples * (data.events ? data.period : 1));
  const percent = (samples) => (whole ? 100 * samples / whole : 0).toFixed(3);
  const head = ['Method', 'Kind', 'Self %', `Self, ${UNIT}`, 'Total %', `Total, ${UNIT}`];
  const lines = rows.sort(compareRows).map((row) => [row.name, row.kind, percent(row.self), amount(row.self),
    percent(row.total), amount(row.total)]);
  return [head, ...lines].map((line) => line.map(csvCell).join(',') + '\n').join('');
}

function save(text, ending) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  link.download = `${data.title.replace(/[^\w.-]+/g, '-').slice(0, 80) || 'profile'}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

$('exportFolded').addEventListener('click', () => save(foldedText(), 'folded'));
$('exportTable').addEventListener('click', () => save(tableText(), 'csv'));
// jbpf web has an export of its own, and its frame may not save files.
$('export').hidden = parent !== window;

// ---- menus of the toolbar ---------------------------------------------------------------------

$('frameMenu').addEventListener('click', () => {
  const edge = $('frameMenu').getBoundingClientRect();
  openMenu(edge.left, edge.top, nodeName(focus), focus);
});
for (const drop of document.querySelectorAll('.drop')) {
  addEventListener('pointerdown', (event) => { if (!drop.contains(event.target)) drop.open = false; });
  drop.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') { drop.open = false; drop.querySelector('summary').focus(); }
    event.stopPropagation();
  });
}
