// SPDX-License-Identifier: Apache-2.0
// State in the address, menu, keys and pointers. A page has of its own: stateText(), loadState(),
// HELP_KEYS, shortcuts, sheetKey(), leaveTree(), menuOfMethod(); it calls start() at the end of its last script.

// ---- state in the address -----------------------------------------------------------------

const partOfZoom = (x) => (x - graph.x[zoom]) / graph.total[zoom];

// What both pages keep in the address: place, direction, search.
function putPlace(state) {
  if (isIcicle) state.set('icicle', '1');
  if (zoom !== 0) state.set('zoom', graph.hashPath(zoom).join('.'));
  if (span[1] - span[0] < graph.total[zoom])
    state.set('span', span.map(partOfZoom).map((part) => part.toFixed(6)).join('-'));
  putSearch(state);
}

function putSearch(state) {
  if (search.text) state.set('search', search.text);
  if (search.text && search.isRegex) state.set('regex', '1');
}

function readSearch(state) {
  isIcicle = state.get('icicle') === '1';
  $('icicle').setAttribute('aria-pressed', isIcicle);
  changeSearchQuietly(state.get('search') || '', state.get('regex') === '1');
}

function readZoom(state) {
  const node = graph.followPath((state.get('zoom') || '').split('.').filter(Boolean));
  zoomTo(node, false);
  const part = (state.get('span') || '').split('-').map(Number);
  if (part.length === 2 && part[0] >= 0 && part[1] > part[0] && part[1] <= 1)
    setZoom(node, part.map((x) => graph.x[node] + x * graph.total[node]));
}

// "-column" is downwards; what is no column of the table changes nothing.
function readSort(state, otherwise, columns) {
  const order = state.get('sort') || otherwise;
  const column = order.replace(/^-/, '');
  if (columns.some(({ key }) => key === column)) sort = { column, down: order.startsWith('-') };
}

// record: a step that "back" undoes; otherwise the present step is rewritten.
function saveState(record) {
  const text = stateText();
  if (text === (location.hash || '#')) return;
  try {
    if (record && parent === window) history.pushState(null, '', text);
    else history.replaceState(null, '', text);
  } catch {
    location.hash = text;
  }
  tellView(record);
}

// jbpf web shows this page in a frame, and keeps its address and steps in its own.
function tellView(record) {
  if (parent !== window) parent.postMessage({ jbpfView: stateText(), record }, '*');
}

// In Live the frame is a new one each few seconds: who works in it goes on where the focus was.
function keepFocus() {
  addEventListener('focusin', (event) => parent.postMessage({ jbpfFocus: event.target.id }, '*'));
  addEventListener('message', (event) => {
    if (event.source === parent && typeof event.data?.jbpfFocus === 'string') $(event.data.jbpfFocus)?.focus();
  });
}

function changeSearchQuietly(text, isRegex) {
  search.text = text;
  search.isRegex = isRegex;
  $('query').value = text;
  $('regex').setAttribute('aria-pressed', isRegex);
}

addEventListener('popstate', loadState);
addEventListener('hashchange', () => { if (stateText() !== (location.hash || '#')) loadState(); });

// ---- menu, help -----------------------------------------------------------------------------

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
      leaveTree();
    }]);
  }
  items.push(['Search this name', () => changeSearch(name, false)], ...menuOfMethod(name, node));
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
  $('helpKeys').replaceChildren();
  for (const [key, text] of HELP_KEYS) {
    const dt = document.createElement('dt');
    const dd = document.createElement('dd');
    const kbd = document.createElement('kbd');
    kbd.textContent = key;
    dt.append(kbd);
    dd.textContent = text;
    $('helpKeys').append(dt, dd);
  }
  $('helpDraw').textContent =
    `${formatCount(graph.count)} frames; last drawn in ${canvas.dataset.drawMs} ms.`;
  $('help').showModal();
}

// ---- events -------------------------------------------------------------------------------

const CANVAS_EVENTS = {
  pointermove(event) {
    const node = hitTest(event.offsetX, event.offsetY);
    showTip(node, event.clientX, event.clientY);
    if (node !== hover) { hover = node; requestDraw(); }
  },
  pointerleave() { hover = -1; showTip(-1); requestDraw(); },
  click(event) {
    const node = hitTest(event.offsetX, event.offsetY);
    if (node >= 0) zoomTo(node);
  },
  contextmenu: openFrameMenu,
  wheel: turnWheel,
  focus() { describe(focus); requestDraw(); },
  blur: requestDraw,
};

function openFrameMenu(event) {
  const isKey = event.button !== 2;
  const node = isKey ? focus : hitTest(event.offsetX, event.offsetY);
  if (node < 0) return;
  event.preventDefault();
  setFocus(node);
  const box = isKey && nodeBox(node);
  const edge = canvas.getBoundingClientRect();
  if (box) openMenu(edge.left + box.left, edge.top + box.top, nodeName(node), node);
  else openMenu(event.clientX, event.clientY, nodeName(node), node);
}

function turnWheel(event) {
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
}

for (const [element, itsPane] of canvases) {
  for (const [type, action] of Object.entries(CANVAS_EVENTS))
    element.addEventListener(type, (event) => {
      usePane(itsPane);
      action(event);
    }, { passive: false });
  itsPane.scroll.addEventListener('scroll', requestDraw, { passive: true });
}

$('icicle').addEventListener('click', turnOver);
$('reset').addEventListener('click', () => zoomTo(0));
$('theme').addEventListener('click', toggleTheme);
$('helpButton').addEventListener('click', showHelp);
$('copy').addEventListener('click', () => copyText(nodeName(focus)));
$('query').addEventListener('input', () => {
  clearTimeout(searchTimer);
  // While typing, big profiles wait for a pause.
  const delay_ms = graph.count > 50000 ? 120 : 0;
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

addEventListener('keydown', (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
    event.preventDefault();
    openSearch();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || $('help').open) return;
  if (event.target.closest('input, textarea')) return;
  if (canvases.has(event.target)) usePane(canvases.get(event.target));
  const onButton = event.target.closest('button') || event.target.matches('#facts, #legend');
  const action = shortcutOf(event.key);
  if (action) action();
  else if (!sheetKey(event) && (onButton || view !== 'graph' || !graphKey(event))) return;
  event.preventDefault();
});

// What is wider than a phone scrolls, and then by the keys, too.
const wide = new ResizeObserver((entries) => entries.forEach(({ target }) => {
  if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
  else target.removeAttribute('tabindex');
}));
for (const id of ['facts', 'legend']) wide.observe($(id));
new ResizeObserver(() => { if (view === 'graph') eachPane(layOut); }).observe($('graph'));
wantsDark.addEventListener('change', applyTheme);
addEventListener('beforeprint', () => {
  isPrinting = true;
  applyTheme();
  eachPane(layOut);
  draw();
});
addEventListener('afterprint', () => {
  isPrinting = false;
  applyTheme();
  eachPane(layOut);
});

function savedTheme() {
  try {
    return localStorage.getItem('jbpf-theme');
  } catch {
    return window.jbpfTheme; // a frame of jbpf web, which keeps it; elsewhere the system's choice
  }
}

function start() {
  const theme = savedTheme();
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  setZoom(0);
  renderHeader();
  applyTheme();
  loadState();
  draw();
  if (parent !== window) keepFocus();
  tellView(false);
}
