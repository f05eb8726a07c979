// SPDX-License-Identifier: Apache-2.0
// The table of methods and the tree: the same data as text, for reading, sorting, screen readers.

// ---- table and tree -----------------------------------------------------------------------

const UNIT_OF_COLUMNS = UNIT === 'samples' ? '' : `, ${UNIT}`;
const COLUMNS = [
  { key: 'selfPercent', label: 'Self %', value: (row) => row.self },
  { key: 'self', label: `Self${UNIT_OF_COLUMNS}`, value: (row) => row.self },
  { key: 'totalPercent', label: 'Total %', value: (row) => row.total },
  { key: 'total', label: `Total${UNIT_OF_COLUMNS}`, value: (row) => row.total },
  { key: 'kind', label: 'Kind', value: (row) => row.kind, isText: true },
  { key: 'name', label: 'Method', value: (row) => row.name, isText: true },
];

// Self and total per method below a node; recursion counts once.
function sumMethods(source, top) {
  const sums = new Map();
  const onPath = new Uint32Array(names.length);
  const stack = [top];
  while (stack.length) {
    const node = stack.pop();
    if (node < 0) { onPath[methodOf[source.frame[~node]]]--; continue; }
    const method = methodOf[source.frame[node]];
    if (node !== 0 || sandwich) {
      let sum = sums.get(method);
      if (!sum) sums.set(method, sum = { self: 0, total: 0, most: -1, frame: 0, tiers: TIER_KINDS.map(() => 0) });
      sum.self += source.self[node];
      if (onPath[method]++ === 0) addPlace(sum, source, node);
      stack.push(~node);
    }
    for (let i = source.childStart[node]; i < source.childEnd(node); i++) stack.push(i);
  }
  return sums;
}

function addPlace(sum, source, node) {
  const total = source.total[node];
  sum.total += total;
  if (total > sum.most) { sum.most = total; sum.frame = source.frame[node]; }
  if (source.tiers) source.tiers.forEach((tier, i) => { sum.tiers[i] += tier[node]; });
}

// Self is where the time was, whichever way the graph is read, so a callers view is counted on the
// forward tree.
function methodRows() {
  const source = graph.isReversed ? forward : graph;
  const top = graph.isReversed ? 0 : zoom;
  const rows = [];
  for (const { frame, self, total, tiers } of sumMethods(source, top).values()) {
    if (total === 0) continue;
    if (picked.size && !picked.has(kindOf[frame])) continue;
    if (search.frames && !search.frames[frame]) continue;
    const kind = tiersText(tiers) || data.kinds[kindOf[frame]].label;
    rows.push({ frame, self, total, name: names[frame], kind });
  }
  return { rows, whole: source.total[top], what: top === 0 && !sandwich ? 'the whole profile' : names[source.frame[top]] };
}

function compareRows(a, b) {
  const { value } = COLUMNS.find((column) => column.key === sort.column);
  const order = value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0;
  return (sort.down ? -order : order) || b.self - a.self || b.total - a.total ||
    frameRank[a.frame] - frameRank[b.frame];
}

function tableRow(row, whole) {
  const tr = document.createElement('tr');
  const kind = cell('', 'text');
  const name = cell('', 'text wide');
  const button = document.createElement('button');
  kind.append(swatch(kindOf[row.frame]), row.kind);
  button.className = 'name';
  button.textContent = kindOf[row.frame] === KIND_HIDDEN ? '(hidden)' : row.name;
  button.title = 'Show in the graph';
  button.addEventListener('click', () => {
    changeSearch(row.name, false);
    setView('graph');
    nextMatch(1);
    canvas.focus();
  });
  button.addEventListener('contextmenu', (event) => {
    event.preventDefault();
    openMenu(event.clientX, event.clientY, row.name);
  });
  name.append(button);
  tr.append(
    cell(formatPercent(row.self, whole), 'bar', row.self / whole),
    cell(formatAmount(row.self)),
    cell(formatPercent(row.total, whole), 'bar', row.total / whole),
    cell(formatAmount(row.total)), kind, name);
  return tr;
}

function renderTable() {
  const { rows, whole, what } = methodRows();
  rows.sort(compareRows);
  $('tableCaption').textContent =
    `${formatCount(rows.length)} methods of ${what}, ${formatCount(whole)} samples` +
    (UNIT === 'samples' ? '' : ` (${amountText(whole)})`) +
    (search.frames ? ', those that match the search' : '') +
    (picked.size ? ', of the kinds picked in the legend' : '');
  renderTableHead('tableHead', COLUMNS, renderTable);
  showRows('tableBody', rows, (row) => tableRow(row, whole));
  offerMoreRows(rows.length);
}

const TREE_STEP = 100;

function childrenByWeight(node) {
  const children = [];
  for (let i = graph.childStart[node]; i < graph.childEnd(node); i++) children.push(i);
  return children.sort((a, b) => graph.total[b] - graph.total[a] || a - b);
}

function treeRow(node, position, size) {
  const tr = document.createElement('tr');
  const level = graph.depth[node] - graph.depth[zoom] + 1;
  const hasChildren = graph.childEnd(node) > graph.childStart[node];
  const name = cell('', 'text wide');
  const twist = document.createElement('span');
  const label = document.createElement('span');
  tr.setAttribute('role', 'row');
  tr.setAttribute('aria-level', level);
  tr.setAttribute('aria-posinset', position);
  tr.setAttribute('aria-setsize', size);
  if (hasChildren) tr.setAttribute('aria-expanded', 'false');
  tr.tabIndex = -1;
  tr.node = node;
  if (search.frames && search.frames[graph.frame[node]]) tr.className = 'match';
  twist.className = 'twist';
  twist.setAttribute('aria-hidden', 'true');
  twist.textContent = hasChildren ? '\u25b8' : '';
  label.className = 'name';
  label.textContent = nodeName(node);
  name.style.setProperty('--level', level - 1);
  name.append(twist, swatch(kindOf[graph.frame[node]]), label);
  const kind = document.createElement('span');
  kind.className = 'muted kind';
  kind.textContent = (node === 0 ? '' : kindText(node));
  name.append(kind);
  const total = graph.total[node];
  tr.append(cell(formatPercent(total, graph.total[zoom]), 'bar', total / graph.total[zoom]),
    cell(formatAmount(total)), cell(formatAmount(graph.self[node])), name);
  for (const td of tr.cells) td.setAttribute('role', 'gridcell');
  return tr;
}

// Rows for children[from...], at most TREE_STEP, and one that brings the rest.
function childRows(children, from) {
  const rows = children.slice(from, from + TREE_STEP)
    .map((child, i) => treeRow(child, from + i + 1, children.length));
  const rest = children.length - from - TREE_STEP;
  if (rest > 0) {
    const more = treeRow(children[from + TREE_STEP], from + TREE_STEP + 1, children.length);
    more.removeAttribute('aria-expanded');
    more.querySelector('.name').textContent = `${formatCount(rest)} more`;
    more.more = () => {
      const fresh = childRows(children, from + TREE_STEP);
      more.replaceWith(...fresh);
      focusRow(fresh[0]);
    };
    rows.push(more);
  }
  return rows;
}

const levelOf = (row) => Number(row.getAttribute('aria-level'));

function expandRow(row) {
  if (row.more) { row.more(); return; }
  if (row.getAttribute('aria-expanded') !== 'false') return;
  row.setAttribute('aria-expanded', 'true');
  row.querySelector('.twist').textContent = '\u25be';
  row.after(...childRows(childrenByWeight(row.node), 0));
}

function collapseRow(row) {
  const level = levelOf(row);
  row.setAttribute('aria-expanded', 'false');
  row.querySelector('.twist').textContent = '\u25b8';
  while (row.nextSibling && levelOf(row.nextSibling) > level) row.nextSibling.remove();
}

function focusRow(row) {
  if (!row) return;
  for (const other of $('treeBody').querySelectorAll('tr[tabindex="0"]')) other.tabIndex = -1;
  row.tabIndex = 0;
  row.focus();
}

$('treeTotal').textContent += UNIT_OF_COLUMNS;
$('treeSelf').textContent += UNIT_OF_COLUMNS;

function renderTree() {
  const top = treeRow(zoom, 1, 1);
  $('treeBody').replaceChildren(top);
  top.tabIndex = 0;
  // Open along the hot path to where it forks.
  let row = top;
  for (let steps = 0; row && steps < 200; steps++) {
    expandRow(row);
    const next = row.nextSibling;
    row = next && graph.total[next.node] >= 0.6 * graph.total[row.node] ? next : null;
  }
}

function renderSheets() {
  if (view === 'table') { rowsShown = ROWS_STEP; renderTable(); }
  if (view === 'tree') renderTree();
}

$('moreRows').addEventListener('click', () => { rowsShown += ROWS_STEP; renderTable(); });
$('treeBody').addEventListener('click', (event) => {
  const row = event.target.closest('tr');
  if (!row) return;
  if (row.getAttribute('aria-expanded') === 'true') collapseRow(row);
  else expandRow(row);
  focusRow(row.isConnected ? row : null);
});
$('treeBody').addEventListener('contextmenu', (event) => {
  const row = event.target.closest('tr');
  if (!row || row.more) return;
  event.preventDefault();
  openMenu(event.clientX, event.clientY, nodeName(row.node), row.node);
});

function treeKey(event, row) {
  const isOpen = row.getAttribute('aria-expanded');
  switch (event.key) {
    case 'ArrowDown': focusRow(row.nextSibling); break;
    case 'ArrowUp': focusRow(row.previousSibling); break;
    case 'Home': focusRow($('treeBody').firstChild); break;
    case 'End': focusRow($('treeBody').lastChild); break;
    case 'ArrowRight':
      if (isOpen === 'true') focusRow(row.nextSibling);
      else expandRow(row);
      break;
    case 'ArrowLeft':
      if (isOpen === 'true') { collapseRow(row); break; }
      for (let at = row.previousSibling; at; at = at.previousSibling)
        if (levelOf(at) < levelOf(row)) { focusRow(at); break; }
      break;
    case 'Enter':
      if (row.more) row.more();
      else { const { node } = row; zoomTo(node); setView('graph'); canvas.focus(); }
      break;
    default: return false;
  }
  return true;
}
