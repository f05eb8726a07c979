// SPDX-License-Identifier: Apache-2.0
// Search: which frames match, how many samples they cover, walking from match to match. A page has
// of its own: MATCHED_OF, showGraph(), renderSheets(), saveState().

// ---- search -------------------------------------------------------------------------------

function makeMatcher(text, isRegex) {
  if (isRegex) {
    const expression = new RegExp(text, /[A-Z]/.test(text) ? '' : 'i');
    return (name) => expression.test(name);
  }
  // Capitals in the search make them count.
  if (/[A-Z]/.test(text)) return (name) => name.includes(text);
  return (name) => name.toLowerCase().includes(text);
}

function runSearch() {
  search.frames = null;
  $('query').removeAttribute('aria-invalid');
  if (search.text) {
    try {
      const matches = makeMatcher(search.text, search.isRegex);
      const isFrame = (i) => kindOf[i] !== KIND_HIDDEN && i !== rootFrame;
      search.frames = Uint8Array.from(names, (name, i) => (isFrame(i) && matches(name) ? 1 : 0));
    } catch (error) {
      $('query').setAttribute('aria-invalid', 'true');
    }
  }
  eachPane(countMatches);
  updateMatches();
  requestDraw();
}

// search.before: of each node how many match in front of it.
function countMatches() {
  search.at = -1;
  search.before = null;
  search.list = [];
  if (!search.frames) return;
  const { frame, count } = graph;
  search.before = new Uint32Array(count + 1);
  for (let node = 0; node < count; node++)
    search.before[node + 1] = search.before[node] + search.frames[frame[node]];
}

// Samples whose stack has a match, within the zoomed frame and at all: only the outermost match
// of a stack counts.
function matchedSamples(node) {
  const { parent, total, frame } = graph;
  const covered = new Uint8Array(graph.count);
  let sum = 0;
  // Above the zoomed frame, a match covers all of it.
  for (let at = node; at !== 0; at = parent[at])
    if (search.frames[frame[at]]) return total[node];
  for (const [start, end] of graph.rangesBelow(node)) {
    for (let i = start; i < end; i++) {
      if (i !== node && covered[parent[i]]) covered[i] = 1;
      else if (search.frames[frame[i]]) { covered[i] = 1; sum += total[i]; }
    }
  }
  return sum;
}

function updateMatches() {
  const text = [];
  search.list = [];
  if (search.frames) {
    for (const [start, end] of ranges)
      if (search.before[end] > search.before[start])
        for (let i = start; i < end; i++)
          if (search.frames[graph.frame[i]] && graph.total[i] > 0) search.list.push(i);
    search.list.sort((a, b) => graph.total[b] - graph.total[a] || a - b);
    if (search.at >= search.list.length) search.at = -1;
    text.push(`${formatPercent(matchedSamples(0), graph.total[0])} of ${MATCHED_OF}`);
    if (zoom !== 0) text.push(`${formatPercent(matchedSamples(zoom), graph.total[zoom])} of view`);
    const count = formatCount(search.list.length);
    text.push(search.at >= 0 ? `${search.at + 1} of ${count}` : `${count} frame${search.list.length === 1 ? '' : 's'}`);
  } else if (search.text) {
    text.push('not a regular expression');
  }
  $('matches').textContent = text.join(' \u00b7 ');
  $('next').disabled = $('previous').disabled = search.list.length === 0;
}

// Heaviest first. A match too narrow to see is zoomed to.
function nextMatch(step) {
  const { list } = search;
  if (!list.length) return;
  if (search.at < 0) search.at = step > 0 ? 0 : list.length - 1;
  else search.at = (search.at + step + list.length) % list.length;
  const at = search.at;
  const node = list[at];
  const box = nodeBox(node);
  showGraph();
  if (!box || box.right - box.left < 8) {
    let target = node;
    const widthWithin = (other) => graph.total[node] * width / graph.total[other];
    while (target !== 0 && widthWithin(graph.parent[target]) > 40) target = graph.parent[target];
    zoomTo(target);
    search.at = search.list.indexOf(node);
  }
  setFocus(node);
  updateMatches();
}

let searchTimer = 0;
function changeSearch(text, isRegex, record = true) {
  search.text = text;
  search.isRegex = isRegex;
  if ($('query').value !== text) $('query').value = text;
  $('regex').setAttribute('aria-pressed', isRegex);
  runSearch();
  renderSheets();
  if (record) saveState(false);
}
