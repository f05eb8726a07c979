// SPDX-License-Identifier: Apache-2.0
// State in the address, header, legend, menu, keys and pointers; starts everything.

// ---- state in the address -----------------------------------------------------------------

const partOfZoom = (x) => (x - graph.x[zoom]) / graph.total[zoom];

function stateText() {
  const state = new URLSearchParams();
  if (view !== 'graph') state.set('view', view);
  if (graph.isReversed) state.set('callers', '1');
  if (isIcicle) state.set('icicle', '1');
  if (zoom !== 0)
    state.set('zoom', graph.path(zoom).map((node) => frameHash(graph.frame[node])).join('.'));
  if (span[1] - span[0] < graph.total[zoom])
    state.set('span', span.map(partOfZoom).map((part) => part.toFixed(6)).join('-'));
  if (search.text) state.set('search', search.text);
  if (search.text && search.isRegex) state.set('regex', '1');
  if (picked.size)
    state.set('kinds', [...picked].sort().map((kind) => data.kinds[kind].key).join('.'));
  if (sort.column !== 'selfPercent' || !sort.down)
    state.set('sort', (sort.down ? '-' : '') + sort.column);
  return '#' + state;
}

// record: a step that "back" undoes; otherwise the present step is rewritten.
function saveState(record) {
  const text = stateText();
  if (text === (location.hash || '#')) return;
  try {
    if (record) history.pushState(null, '', text);
    else history.replaceState(null, '', text);
  } catch {
    location.hash = text;
  }
}

function loadState() {
  const state = new URLSearchParams(location.hash.slice(1));
  const order = state.get('sort') || '-selfPercent';
  const column = order.replace(/^-/, '');
  if (COLUMNS.some(({ key }) => key === column)) sort = { column, down: order.startsWith('-') };
  picked.clear();
  for (const key of (state.get('kinds') || '').split('.')) {
    const kind = data.kinds.findIndex((entry) => entry.key === key);
    if (kind >= 0) picked.add(kind);
  }
  isIcicle = state.get('icicle') === '1';
  $('icicle').setAttribute('aria-pressed', isIcicle);
  changeSearchQuietly(state.get('search') || '', state.get('regex') === '1');
  setReverse(state.get('callers') === '1', false);
  let node = 0;
  for (const hash of (state.get('zoom') || '').split('.').filter(Boolean)) {
    const child = graph.findChild(node, hash);
    if (child < 0) break; // the profile has changed: as far as the path goes
    node = child;
  }
  zoomTo(node, false);
  const part = (state.get('span') || '').split('-').map(Number);
  if (part.length === 2 && part[0] >= 0 && part[1] > part[0] && part[1] <= 1)
    setZoom(node, part.map((x) => graph.x[node] + x * graph.total[node]));
  renderLegend();
  const wanted = state.get('view');
  setView(wanted === 'table' || wanted === 'tree' ? wanted : 'graph', false);
}

function changeSearchQuietly(text, isRegex) {
  search.text = text;
  search.isRegex = isRegex;
  $('query').value = text;
  $('regex').setAttribute('aria-pressed', isRegex);
}

addEventListener('popstate', loadState);
addEventListener('hashchange', () => { if (stateText() !== (location.hash || '#')) loadState(); });

// ---- header, legend, menu, help -------------------------------------------------------------

function renderHeader() {
  document.title = data.title;
  $('nothing').hidden = totalSamples > 0;
  $('title').textContent = data.title;
  $('subtitle').textContent = data.subtitle;
  const facts = [
    ['Samples', formatCount(data.samples)],
    data.hz ? ['CPU time', `${formatSeconds(data.samples)} at ${data.hz} Hz`] : null,
    data.range ? ['Time', data.range] : null,
    data.streams ? ['Processes', formatCount(data.streams)] : null,
    ['Unknown frames', data.unknownPercent.toFixed(2) + ' %', data.unknownPercent > 1],
    ['Truncated stacks', data.truncatedPercent.toFixed(2) + ' %', data.truncatedPercent > 1],
    ['Lost samples', formatCount(data.lost), data.lost > 0],
  ];
  for (const fact of facts.filter(Boolean)) {
    const box = document.createElement('div');
    addFacts(box, [fact]);
    if (fact[2]) box.className = 'warn';
    $('facts').append(box);
  }
}

const selfByKind = new Float64Array(data.kinds.length);
const kindsPresent = new Set([kindOf[rootFrame]]);
for (let node = 1; node < forward.count; node++) {
  const kind = kindOf[forward.frame[node]];
  selfByKind[kind] += forward.self[node];
  kindsPresent.add(kind);
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
  $('legend').replaceChildren(...[...kindsPresent].sort().map((kind) => {
    const button = document.createElement('button');
    const percent = document.createElement('span');
    percent.className = 'percent';
    if (selfByKind[kind] > 0)
      percent.textContent = (100 * selfByKind[kind] / totalSamples).toFixed(1) + ' %';
    button.append(swatch(kind), data.kinds[kind].label, percent);
    button.title = `Highlight: ${data.kinds[kind].label}. The figure is its self time.`;
    button.dataset.kind = kind;
    button.setAttribute('aria-pressed', picked.has(kind));
    button.addEventListener('click', () => pickKind(kind));
    return button;
  }));
}

let toastTimer = 0;
function toast(text) {
  $('toast').textContent = text;
  $('toast').hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { $('toast').hidden = true; }, 2500);
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Plain http has no clipboard interface.
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  toast('Copied');
}

// Root first, whichever way the graph is read.
function stackOf(node) {
  const stack = graph.path(node).map(nodeName);
  return (graph.isReversed ? stack.reverse() : stack).join(';');
}

function openMenu(x, y, name, node = -1) {
  showTip(-1);
  const back = document.activeElement;
  const items = [['Copy name', () => copyText(name)]];
  if (node >= 0) {
    items.push(['Copy stack', () => copyText(stackOf(node))]);
    items.push(['Zoom to this frame', () => {
      zoomTo(node);
      if (view === 'tree') setView('graph');
    }]);
  }
  items.push(['Search this name', () => changeSearch(name, false)]);
  const close = () => { $('menu').hidden = true; if (back) back.focus(); };
  $('menu').replaceChildren(...items.map(([label, action]) => {
    const button = document.createElement('button');
    button.setAttribute('role', 'menuitem');
    button.textContent = label;
    button.addEventListener('click', () => { close(); action(); });
    return button;
  }));
  $('menu').hidden = false;
  const box = $('menu').getBoundingClientRect();
  $('menu').style.left = Math.min(x, innerWidth - box.width - 8) + 'px';
  $('menu').style.top = Math.min(y, innerHeight - box.height - 8) + 'px';
  $('menu').firstChild.focus();
  $('menu').onkeydown = (key) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[key.key];
    const all = [...$('menu').children];
    if (step) all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
    if (key.key === 'Escape') close();
    if (step || key.key === 'Escape') key.preventDefault();
    key.stopPropagation();
  };
}
addEventListener('pointerdown', (event) => {
  if (!$('menu').contains(event.target)) $('menu').hidden = true;
});

function showHelp() {
  const keys = [
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
    ['T', 'table of methods'],
    ['L', 'tree'],
    ['G', 'flame graph'],
    ['C', 'copy name'],
    ['D', 'dark or light'],
    ['?', 'this help'],
  ];
  $('helpKeys').replaceChildren();
  for (const [key, text] of keys) {
    const dt = document.createElement('dt');
    const dd = document.createElement('dd');
    const kbd = document.createElement('kbd');
    kbd.textContent = key;
    dt.append(kbd);
    dd.textContent = text;
    $('helpKeys').append(dt, dd);
  }
  $('helpDraw').textContent =
    `${formatCount(forward.count)} frames; last drawn in ${canvas.dataset.drawMs} ms.`;
  $('help').showModal();
}

// ---- events -------------------------------------------------------------------------------

canvas.addEventListener('pointermove', (event) => {
  const node = hitTest(event.offsetX, event.offsetY);
  showTip(node, event.clientX, event.clientY);
  if (node !== hover) { hover = node; requestDraw(); }
});
canvas.addEventListener('pointerleave', () => { hover = -1; showTip(-1); requestDraw(); });
canvas.addEventListener('click', (event) => {
  const node = hitTest(event.offsetX, event.offsetY);
  if (node >= 0) zoomTo(node);
});
canvas.addEventListener('contextmenu', (event) => {
  const isKey = event.button !== 2;
  const node = isKey ? focus : hitTest(event.offsetX, event.offsetY);
  if (node < 0) return;
  event.preventDefault();
  setFocus(node);
  const box = isKey && nodeBox(node);
  const edge = canvas.getBoundingClientRect();
  if (box) openMenu(edge.left + box.left, edge.top + box.top, nodeName(node), node);
  else openMenu(event.clientX, event.clientY, nodeName(node), node);
});
canvas.addEventListener('wheel', (event) => {
  const sideways = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
  if (event.ctrlKey || event.metaKey || event.altKey) {
    // A notch of a wheel is 100 or more, a move on a touchpad 1 to 10.
    const step = Math.max(-60, Math.min(60, event.deltaY));
    zoomSpan(span[0] + event.offsetX / width * (span[1] - span[0]), Math.exp(step * 0.004));
  } else if (sideways) {
    pan(sideways / width * (span[1] - span[0]));
  } else {
    return; // rows scroll
  }
  event.preventDefault();
}, { passive: false });
scroll.addEventListener('scroll', requestDraw, { passive: true });
canvas.addEventListener('focus', () => { describe(focus); requestDraw(); });
canvas.addEventListener('blur', requestDraw);

$('viewGraph').addEventListener('click', () => setView('graph'));
$('viewTable').addEventListener('click', () => setView('table'));
$('viewTree').addEventListener('click', () => setView('tree'));
$('reverse').addEventListener('click', () => setReverse(!graph.isReversed));
$('icicle').addEventListener('click', turnOver);
$('reset').addEventListener('click', () => zoomTo(0));
$('theme').addEventListener('click', toggleTheme);
$('helpButton').addEventListener('click', showHelp);
$('copy').addEventListener('click', () => copyText(nodeName(focus)));
$('query').addEventListener('input', () => {
  clearTimeout(searchTimer);
  // While typing, big profiles wait for a pause.
  const delay_ms = forward.count > 50000 ? 120 : 0;
  searchTimer = setTimeout(() => changeSearch($('query').value, search.isRegex), delay_ms);
});
$('regex').addEventListener('click', () => changeSearch($('query').value, !search.isRegex));
$('next').addEventListener('click', () => nextMatch(1));
$('previous').addEventListener('click', () => nextMatch(-1));
$('search').addEventListener('submit', (event) => { event.preventDefault(); nextMatch(1); });
$('query').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && event.shiftKey) { event.preventDefault(); nextMatch(-1); }
  if (event.key !== 'Escape') return;
  event.preventDefault();
  if ($('query').value) changeSearch('', search.isRegex);
  else canvas.focus();
});
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

function graphKey(event) {
  const up = isIcicle ? 'parent' : 'child';
  const down = isIcicle ? 'child' : 'parent';
  const middle = () =>
    Math.max(span[0], Math.min(span[1], graph.x[focus] + graph.total[focus] / 2));
  switch (event.key) {
    case 'ArrowUp': walk(up); break;
    case 'ArrowDown': walk(down); break;
    case 'ArrowLeft': walk('previous'); break;
    case 'ArrowRight': walk('next'); break;
    case 'Home': setFocus(0); break;
    case 'Enter': zoomTo(focus); break;
    case 'Backspace': zoomTo(graph.parent[zoom]); break;
    case '+': case '=': zoomSpan(middle(), 0.7); break;
    case '-': zoomSpan(middle(), 1 / 0.7); break;
    default: return false;
  }
  return true;
}

function openSearch() {
  $('query').focus();
  $('query').select();
}

function turnOver() {
  setIcicle(!isIcicle);
  saveState(true);
}

// Letters work in both cases, but for n and N.
function shortcutOf(key) {
  return shortcuts[key] || (key.length === 1 ? shortcuts[key.toLowerCase()] : undefined);
}

const shortcuts = {
  '/': openSearch,
  n: () => nextMatch(1),
  N: () => nextMatch(-1),
  i: turnOver,
  r: () => setReverse(!graph.isReversed),
  t: () => setView(view === 'table' ? 'graph' : 'table'),
  l: () => setView(view === 'tree' ? 'graph' : 'tree'),
  g: () => setView('graph'),
  c: () => copyText(nodeName(focus)),
  d: toggleTheme,
  '?': showHelp,
  Escape: () => zoomTo(0),
};

addEventListener('keydown', (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
    event.preventDefault();
    openSearch();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || $('help').open) return;
  if (event.target.closest('input, textarea')) return;
  const onButton = event.target.closest('button');
  const row = event.target.closest('#treeBody tr');
  const action = shortcutOf(event.key);
  if (action) action();
  else if (row ? !treeKey(event, row) : onButton || view !== 'graph' || !graphKey(event)) return;
  event.preventDefault();
});

new ResizeObserver(() => { if (view === 'graph') layOut(); }).observe($('graph'));
wantsDark.addEventListener('change', applyTheme);
addEventListener('beforeprint', () => {
  isPrinting = true;
  applyTheme();
  layOut();
  draw();
});
addEventListener('afterprint', () => {
  isPrinting = false;
  applyTheme();
  layOut();
});

try {
  const theme = localStorage.getItem('jbpf-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch { /* no storage: the system's choice */ }
setZoom(0);
renderHeader();
applyTheme();
loadState();
draw();
