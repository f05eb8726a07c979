// SPDX-License-Identifier: Apache-2.0
// The page of a profile: its address, header, legend, keys; starts everything.

function stateText() {
  const state = new URLSearchParams();
  if (view !== 'graph') state.set('view', view);
  if (sandwich) {
    state.set('method', sandwich.name);
    if (sandwich.wasIcicle) state.set('icicle', '1');
    putSearch(state);
  } else {
    if (graph.isReversed) state.set('callers', '1');
    putPlace(state);
  }
  putSteps(state);
  if (picked.size)
    state.set('kinds', [...picked].sort().map((kind) => data.kinds[kind].key).join('.'));
  if (sort.column !== 'selfPercent' || !sort.down)
    state.set('sort', (sort.down ? '-' : '') + sort.column);
  return '#' + state;
}

function applyState(state) {
  leaveMethod();
  if (takeSteps(state)) renderHeader();
  readSort(state, '-selfPercent', COLUMNS);
  picked.clear();
  for (const key of (state.get('kinds') || '').split('.')) {
    const kind = data.kinds.findIndex((entry) => entry.key === key);
    if (kind >= 0) picked.add(kind);
  }
  readSearch(state);
  setReverse(state.get('callers') === '1', false);
  if (!setMethod(state.get('method'), false)) readZoom(state);
  renderLegend();
  showSteps();
  const wanted = state.get('view');
  setView(wanted === 'table' || wanted === 'tree' ? wanted : 'graph', false);
}

function loadState() {
  applyState(new URLSearchParams(location.hash.slice(1)));
}

// Losses are of all processes: on a page of some of them they are no warning, and told as such.
function lostFact() {
  const isOfHost = data.isSelection && data.lost > 0;
  const [name, text] = data.measured ? ['Lost', amountText(data.lost)] : ['Lost samples', formatCount(data.lost)];
  return [isOfHost ? `${name}, whole host` : name, text, data.lost > 0 && !isOfHost];
}

function headerFacts() {
  const shown = totalSamples();
  const all = shown === data.samples ? '' : ` of ${formatCount(data.samples)}`;
  const ofWhole = data.isPart ? ', whole processes' : '';
  return [
    data.measured ? null : ['Samples', formatCount(shown) + all],
    data.hz ? ['CPU time', `${formatSeconds(shown)} at ${data.hz} Hz`] : null,
    data.time ? [data.time, formatSeconds(shown) +
      (data.measured ? '' : `, one sample for ${data.period / 1e6} ms`)] : null,
    data.events ? [data.events, formatEvents(shown) + (isSize ? '' : `, one sample for ${data.period}`)] : null,
    data.range ? ['Time', data.range, data.hasGap] : null,
    data.host ? ['Host', data.host] : null,
    data.image ? ['Image', data.image] : null,
    data.jvm ? ['JVM', data.jvm] : null,
    data.streams ? ['Processes', formatCount(data.streams)] : null,
    [`Unknown frames${ofWhole}`, data.unknownPercent.toFixed(2) + ' %', data.unknownPercent > 1],
    [`Truncated stacks${ofWhole}`, data.truncatedPercent.toFixed(2) + ' %', data.truncatedPercent > 1],
    lostFact(),
  ].filter(Boolean);
}

function renderHeader() {
  document.title = data.title;
  $('nothing').hidden = totalSamples() > 0;
  $('title').textContent = data.title;
  $('subtitle').textContent = data.subtitle;
  $('facts').replaceChildren(...headerFacts().map((fact) => {
    const box = document.createElement('div');
    addFacts(box, [fact]);
    if (fact[2]) box.className = 'warn';
    return box;
  }));
}

function pickKind(kind) {
  if (!picked.delete(kind)) picked.add(kind);
  renderLegend();
  $('legend').querySelector(`[data-kind="${kind}"]`).focus();
  renderSheets();
  requestDraw();
  saveState(false);
}

function renderLegend() {
  const { kinds, selfByKind } = forward;
  $('legend').replaceChildren(...[...kinds].sort().map((kind) => {
    const button = document.createElement('button');
    const percent = document.createElement('span');
    percent.className = 'percent';
    if (selfByKind[kind] > 0)
      percent.textContent = (100 * selfByKind[kind] / totalSamples()).toFixed(1) + ' %';
    button.append(swatch(kind), data.kinds[kind].label, percent);
    button.title = `Highlight: ${data.kinds[kind].label}. The figure is its self time.`;
    button.dataset.kind = kind;
    button.setAttribute('aria-pressed', picked.has(kind));
    button.addEventListener('click', () => pickKind(kind));
    return button;
  }));
}

const HELP_KEYS = [
  ['\u2190 \u2192', 'neighbour frame'],
  ['\u2191 \u2193', 'caller or heaviest callee, as they are drawn'],
  ['Enter', 'zoom to the frame'],
  ['Backspace', 'zoom out one frame'],
  ['Escape', 'whole profile'],
  ['+ -', 'zoom in and out around the frame; also Ctrl and wheel'],
  ['Shift wheel', 'move sideways'],
  ['/  Ctrl F', 'search'],
  ['n  N', 'next and previous match, heaviest first'],
  ['I', 'root at the top or at the bottom'],
  ['R', 'callers: from the leaf up'],
  ['M', 'callers and callees of the frame\'s method'],
  ['T', 'table of methods'],
  ['L', 'tree'],
  ['G', 'flame graph'],
  ['C', 'copy name'],
  ['D', 'dark or light'],
  ['?', 'this help'],
];

$('viewGraph').addEventListener('click', () => setView('graph'));
$('viewTable').addEventListener('click', () => setView('table'));
$('viewTree').addEventListener('click', () => setView('tree'));
$('reverse').addEventListener('click', () => setReverse(!graph.isReversed));
document.querySelector('[role="tablist"]').addEventListener('keydown', (event) => {
  const tabs = [...event.currentTarget.children];
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
  next.click();
  next.focus();
  event.preventDefault();
  event.stopPropagation();
});

const shortcuts = {
  '/': openSearch,
  n: () => nextMatch(1),
  N: () => nextMatch(-1),
  i: turnOver,
  r: () => setReverse(!graph.isReversed),
  t: () => setView(view === 'table' ? 'graph' : 'table'),
  l: () => setView(view === 'tree' ? 'graph' : 'tree'),
  g: () => setView('graph'),
  m: () => { if (sandwich) endMethod(); else setMethod(nodeName(focus)); },
  c: () => copyText(nodeName(focus)),
  d: toggleTheme,
  '?': showHelp,
  Escape: () => { if (sandwich) endMethod(); else zoomTo(0); },
};

function sheetKey(event) {
  const row = event.target.closest('#treeBody tr');
  return row !== null && treeKey(event, row);
}

function leaveTree() {
  if (view === 'tree') setView('graph');
}

start();
