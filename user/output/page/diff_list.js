// SPDX-License-Identifier: Apache-2.0
// The list of methods beside the graph: the same changes as text, to sort, filter and pick from.

let isTotal = false;
const picked = new Set(); // verdicts to list; empty = those that were found, or all
let sort = { column: 'rank', down: false };

const COLUMNS = [
  { key: 'change', label: 'Change', value: (row) => (row.judgement.points ? Infinity :
    row.judgement.change) * (row.judgement.verdict === GONE ? -1 : 1) },
  { key: 'before', label: 'Before', value: (row) => row.shareBefore },
  { key: 'after', label: 'After', value: (row) => row.shareAfter },
  { key: 'rank', label: 'Method', title: 'Surest and largest change first',
    value: (row) => row.rank, isText: true },
];

function readMethods() {
  const rows = [];
  const reader = makeReader(data.methods);
  for (let rank = 0; reader.more(); rank++) {
    const frame = reader.number();
    const isOfTotal = reader.number() === 1;
    const sums = readSums(reader);
    const node = nodeByNumber[reader.number()];
    rows.push({ rank, frame, isOfTotal, ...sums, node, judgement: readJudgement(reader) });
  }
  return rows;
}

const methods = readMethods();

// By frame: what was found of the method, all its places together.
const foundOfFrame = new Map();
for (const row of methods) {
  if (!isFound(row.judgement)) continue;
  if (!foundOfFrame.has(row.frame)) foundOfFrame.set(row.frame, [null, null]);
  foundOfFrame.get(row.frame)[row.isOfTotal ? 1 : 0] = row.judgement;
}

// A place may hold too little for a verdict of its own where all places of its method together have one.
function foundOfMethod(node) {
  const isOpen = textAt[node] >= 0 && verdictOf[node] === UNRESOLVED;
  const found = isOpen ? foundOfFrame.get(graph.frame[node]) : null;
  return found ? { judgement: found[1] || found[0], isOwn: !found[1] } : null;
}

// Nodes of each frame, made when first asked for.
let nodesByFrame = null;
function nodesOf(frame) {
  if (!nodesByFrame) {
    nodesByFrame = new Map();
    for (let node = 1; node < graph.count; node++) {
      const list = nodesByFrame.get(graph.frame[node]);
      if (list) list.push(node);
      else nodesByFrame.set(graph.frame[node], [node]);
    }
  }
  return nodesByFrame.get(frame) || [];
}

// ---- which rows -----------------------------------------------------------------------------

function countVerdicts() {
  const counts = new Array(data.verdicts.length).fill(0);
  for (const row of methods) if (row.isOfTotal === isTotal) counts[row.judgement.verdict]++;
  return counts;
}

function listedVerdicts() {
  if (picked.size) return picked;
  const counts = countVerdicts();
  const found = data.verdicts.map((_, verdict) => verdict)
    .filter((verdict) => verdict > SAME && counts[verdict] > 0);
  return new Set(found.length ? found : [UNRESOLVED, SAME]);
}

function listedRows() {
  const verdicts = listedVerdicts();
  const { value } = COLUMNS.find((column) => column.key === sort.column);
  const isListed = (row) => row.isOfTotal === isTotal && (search.frames ?
    search.frames[row.frame] === 1 : verdicts.has(row.judgement.verdict));
  // What is not known goes last, whichever way.
  const order = (a, b) => {
    const [x, y] = [value(a), value(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return x < y ? -1 : x > y ? 1 : 0;
  };
  return methods.filter(isListed).sort((a, b) => {
    const unknown = Number.isNaN(value(a)) || Number.isNaN(value(b));
    return (sort.down && !unknown ? -order(a, b) : order(a, b)) || a.rank - b.rank;
  });
}

// ---- the table ------------------------------------------------------------------------------

function sureText(judgement) {
  const text = [verdictText(judgement)];
  const interval = formatInterval(judgement);
  if (judgement.verdict !== UNRESOLVED && interval) text.push(interval);
  if (isFound(judgement) && !Number.isNaN(judgement.q)) text.push(`q ${formatQ(judgement.q)}`);
  return text.join(' \u00b7 ');
}

// "+37.00 points": of those that are new or gone there is no relative change.
function pointsText({ shareBefore, shareAfter }) {
  const points = 100 * (shareAfter - shareBefore) / SHARE_UNITS;
  return `${points < 0 ? '\u2212' : '+'}${Math.abs(points).toFixed(2)} points`;
}

function methodRow(row) {
  const tr = document.createElement('tr');
  const { judgement } = row;
  const direction = !isFound(judgement) ? 'neither' : judgement.change > 0 ? 'more' : 'less';
  const sign = signOf(judgement);
  const name = cell('', 'text wide');
  const button = document.createElement('button');
  const sure = document.createElement('span');
  const full = names[row.frame];
  const short = isJava(row.frame) ? lastParts(full, 2) : full;
  const scope = document.createElement('span');
  button.className = 'name';
  button.textContent = short;
  button.title = `${full}: show in the graph`;
  scope.className = 'scope';
  scope.textContent = full.length > short.length ? full.slice(0, full.length - short.length - 1) : '';
  sure.className = 'sure';
  sure.textContent = data.isJudged ? sureText(judgement) : pointsText(row);
  if (judgement.isAlarm) {
    const badge = document.createElement('span');
    badge.className = 'badge';
    badge.textContent = 'alarm';
    name.append(badge);
  }
  name.append(button, scope, sure);
  tr.append(cell((sign && sign + ' ') + formatChange(judgement), `change ${direction}`),
    cell(formatShare(row.shareBefore)), cell(formatShare(row.shareAfter)), name);
  tr.setAttribute('aria-current', row.frame === selected);
  tr.dataset.frame = row.frame;
  tr.addEventListener('click', () => { selectMethod(row); });
  tr.addEventListener('contextmenu', (event) => {
    event.preventDefault();
    openMenu(event.clientX, event.clientY, names[row.frame]);
  });
  return tr;
}

function renderVerdicts() {
  const counts = countVerdicts();
  const listed = listedVerdicts();
  const order = [...counts.keys()].slice(SAME + 1).concat(SAME, UNRESOLVED);
  $('verdicts').replaceChildren(...order.map((verdict) => {
    const button = document.createElement('button');
    button.textContent = `${data.verdicts[verdict]} ${formatCount(counts[verdict])}`;
    button.dataset.verdict = data.verdicts[verdict];
    button.disabled = counts[verdict] === 0;
    button.setAttribute('aria-pressed', listed.has(verdict) && counts[verdict] > 0);
    button.addEventListener('click', () => {
      const wanted = listedVerdicts();
      if (!wanted.delete(verdict)) wanted.add(verdict);
      const fresh = [...wanted];
      picked.clear();
      for (const other of fresh) picked.add(other);
      rowsShown = ROWS_STEP;
      renderSheets();
      saveState(false);
      $('verdicts').querySelector(`[data-verdict="${data.verdicts[verdict]}"]`).focus();
    });
    return button;
  }));
}

function renderSheets() {
  const rows = listedRows();
  const leftOut = data.leftOut[isTotal ? 1 : 0];
  renderVerdicts();
  renderTableHead('listHead', COLUMNS, renderSheets);
  $('ofSelf').setAttribute('aria-pressed', !isTotal);
  $('ofTotal').setAttribute('aria-pressed', isTotal);
  $('listCaption').textContent = `${formatCount(rows.length)} method${rows.length === 1 ? '' : 's'} ` +
    (search.frames ? 'that match the search, whatever their verdict' :
      !data.isJudged ? 'by change: nothing is judged' : 'with the verdicts picked above') +
    (leftOut ? `; ${formatCount(leftOut)} small ones without a change are not in this page` : '');
  showRows('listBody', rows, methodRow);
  offerMoreRows(rows.length);
}

// ---- from the list to the graph -------------------------------------------------------------

// The place of a method where its change is, or its heaviest one.
function placeOf(row) {
  const places = nodesOf(row.frame);
  // The change may come from deeper: the method above it.
  for (let node = row.node; node !== 0; node = graph.parent[node])
    if (graph.frame[node] === row.frame) return node;
  const { total } = graphOf('sum');
  let best = -1;
  for (const node of places)
    if (best < 0 || total[node] > total[best]) best = node;
  return best;
}

function selectMethod(row) {
  const node = placeOf(row);
  const isAgain = selected === row.frame;
  selected = isAgain ? -1 : row.frame;
  for (const tr of $('listBody').children)
    tr.setAttribute('aria-current', Number(tr.dataset.frame) === selected);
  if (isAgain) {
    zoomTo(0);
  } else if (node < 0) {
    zoomTo(0, false);
    $('detailsText').textContent =
      `${names[row.frame]} \u2014 its frames are too small to be drawn: ${sureText(row.judgement)}`;
  } else {
    // What is gone has a place only where both sides are drawn.
    if (graph.total[node] === 0) setWidth('sum', false);
    revealNode(node);
  }
  requestDraw();
  saveState(true);
}

$('moreRows').addEventListener('click', () => { rowsShown += ROWS_STEP; renderSheets(); });
$('ofSelf').addEventListener('click', () => setFamily(false));
$('ofTotal').addEventListener('click', () => setFamily(true));

function setFamily(total) {
  isTotal = total;
  rowsShown = ROWS_STEP;
  renderSheets();
  saveState(false);
}
