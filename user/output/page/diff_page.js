// SPDX-License-Identifier: Apache-2.0
// The page of a comparison: its address, header, legend, keys; starts everything.

// After, unless nothing is there.
const WIDTH_DEFAULT = graph.total[0] > 0 ? 'after' : 'sum';
let widthMode = WIDTH_DEFAULT;

function stateText() {
  const state = new URLSearchParams();
  if (widthMode !== WIDTH_DEFAULT) state.set('width', widthMode);
  if (isOrange) state.set('palette', 'orange');
  putPlace(state);
  if (isTotal) state.set('of', 'total');
  if (picked.size) state.set('verdicts', [...picked].sort().map((v) => data.verdicts[v]).join('.'));
  if (sort.column !== 'rank' || sort.down)
    state.set('sort', (sort.down ? '-' : '') + sort.column);
  if (selected >= 0) state.set('method', frameHash(selected));
  return '#' + state;
}

function loadState() {
  const state = new URLSearchParams(location.hash.slice(1));
  readSort(state, 'rank', COLUMNS);
  picked.clear();
  for (const name of (state.get('verdicts') || '').split('.'))
    if (name && data.verdicts.includes(name)) picked.add(data.verdicts.indexOf(name));
  isTotal = state.get('of') === 'total';
  isOrange = state.get('palette') === 'orange';
  $('paletteButton').setAttribute('aria-pressed', isOrange);
  const hash = state.get('method');
  selected = hash ? names.findIndex((_, frame) => frameHash(frame) === hash) : -1;
  readSearch(state);
  const width = state.get('width');
  setWidth(Object.hasOwn(WIDTHS, width) ? width : WIDTH_DEFAULT, false);
  runSearch();
  readZoom(state);
  applyTheme();
  renderSheets();
  const row = methods.find((other) => other.frame === selected && other.isOfTotal === isTotal);
  const node = row ? placeOf(row) : -1;
  if (node >= 0 && nodeBox(node)) setFocus(node);
}

// ---- widths and colours -----------------------------------------------------------------------

// Nodes are the same in all three; only where and how wide they are differs.
function setWidth(mode, record = true) {
  widthMode = mode;
  graph = graphOf(mode);
  for (const [id, of] of [['widthBefore', 'before'], ['widthAfter', 'after'], ['widthSum', 'sum']])
    $(id).setAttribute('aria-pressed', of === mode);
  $('nothing').hidden = graph.total[0] > 0;
  let node = zoom;
  while (node !== 0 && graph.total[node] === 0) node = graph.parent[node];
  const oldFocus = focus;
  zoomTo(node, false);
  if (graph.total[oldFocus] > 0 && nodeBox(oldFocus)) setFocus(oldFocus);
  if (record) saveState(true);
}

function setPalette(orange) {
  isOrange = orange;
  $('paletteButton').setAttribute('aria-pressed', isOrange);
  applyTheme();
  saveState(false);
}

// Zooms as far out as leaves the node wide enough to read.
function revealNode(node) {
  let target = node;
  const widthWithin = (other) => graph.total[node] * width / graph.total[other];
  while (target !== 0 && widthWithin(graph.parent[target]) > 60)
    target = graph.parent[target];
  zoomTo(target, false);
  setFocus(node);
}

// ---- header, legend ---------------------------------------------------------------------------

const DETAILS = new Set(['Blocks', 'Composition', 'Calibration', 'Note']);

function renderHeader() {
  document.title = data.title;
  $('title').textContent = data.title;
  $('subtitle').textContent = data.subtitle;
  for (const { label, text, isWarning } of data.header) {
    if (label === 'Mode') {
      $('banner').textContent = `Everything is grey: ${text}.`;
      $('banner').hidden = false;
      continue;
    }
    const box = document.createElement('div');
    const list = DETAILS.has(label) && !isWarning ? $('moreFacts') : $('facts');
    addFacts(box, [[label, text]]);
    if (isWarning) box.className = 'warn';
    list.append(box);
  }
}

function legendEntry(text, style) {
  const entry = document.createElement('span');
  const box = document.createElement('i');
  Object.assign(box.style, style);
  entry.append(box, text);
  return entry;
}

function renderLegend() {
  const { full, hatch } = colors;
  const gradient = (steps) => ({ width: '52px', background: `linear-gradient(90deg, ${steps.join(', ')})` });
  $('legend').replaceChildren(
    legendEntry(`\u25b2 more ${data.event}, full colour at +50 %`, gradient(full.more)),
    legendEntry('\u25bc less, full colour at \u221250 %', gradient(full.less)),
    legendEntry('no change found', { background: full.none[0] }),
    legendEntry('\u25b3 \u25bd changed, all places of the method together',
      { background: `linear-gradient(${full.none[0]} 9px, ${full.more[10]} 9px)` }),
    legendEntry('\u271a new', { background: full.more[10], border: `2px solid ${ink.text}` }),
    legendEntry('\u2716 gone', { background: `repeating-linear-gradient(135deg, ${full.less[10]} 0 4px,
      ${hatch} 4px 5px)` }),
    legendEntry('\u21c4 moved within the class or caller', { display: 'none' }),
    legendEntry('~ gone again', { display: 'none' }));
}

// ---- keys -------------------------------------------------------------------------------------

const HELP_KEYS = [
  ['\u2190 \u2192', 'neighbour frame'],
  ['\u2191 \u2193', 'caller or heaviest callee, as they are drawn'],
  ['Enter', 'zoom to the frame'],
  ['Backspace', 'zoom out one frame'],
  ['Escape', 'whole comparison, nothing picked'],
  ['+ -', 'zoom in and out around the frame; also Ctrl and wheel'],
  ['Shift wheel', 'move sideways'],
  ['/  Ctrl F', 'search in graph and list'],
  ['n  N', 'next and previous match, heaviest first'],
  ['B  A  S', 'width: before, after, both together'],
  ['M', 'methods by themselves or with callees'],
  ['P', 'red or orange for more'],
  ['I', 'root at the top or at the bottom'],
  ['C', 'copy name'],
  ['D', 'dark or light'],
  ['?', 'this help'],
];

const shortcuts = {
  '/': openSearch,
  n: () => nextMatch(1),
  N: () => nextMatch(-1),
  b: () => setWidth('before'),
  a: () => setWidth('after'),
  s: () => setWidth('sum'),
  m: () => setFamily(!isTotal),
  p: () => setPalette(!isOrange),
  i: turnOver,
  c: () => copyText(nodeName(focus)),
  d: toggleTheme,
  '?': showHelp,
  Escape: () => {
    selected = -1;
    renderSheets();
    zoomTo(0);
  },
};

// Up and down walk the list from one method's button to the next.
function sheetKey(event) {
  const row = event.target.closest('#listBody tr');
  const step = { ArrowDown: 'nextSibling', ArrowUp: 'previousSibling' }[event.key];
  if (!row || !step) return false;
  if (row[step]) row[step].querySelector('button').focus();
  return true;
}

$('widthBefore').addEventListener('click', () => setWidth('before'));
$('widthAfter').addEventListener('click', () => setWidth('after'));
$('widthSum').addEventListener('click', () => setWidth('sum'));
$('paletteButton').addEventListener('click', () => setPalette(!isOrange));

start();
