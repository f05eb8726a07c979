// SPDX-License-Identifier: Apache-2.0
// A profile's call tree: decoding it, and turning it round for the view of callers.

function decodeGraph() {
  const levels = [rootLevel(data.samples, data.rootSelf)];
  const open = [0]; // index within its level of the node last seen at each depth
  const reader = makeReader(data.tree);
  let depth = 0;
  while (reader.more()) {
    const frame = reader.number();
    depth += 1 - reader.number();
    const self = reader.number();
    const level = levels[depth] ||= { frame: [], parent: [], total: [], self: [], hidden: [] };
    open[depth] = level.frame.length;
    level.frame.push(frame);
    level.parent.push(open[depth - 1]);
    level.self.push(self);
    level.total.push(self);
    level.hidden.push(kindOf[frame] === KIND_HIDDEN ? reader.number() : 0);
  }
  for (let d = levels.length - 1; d > 0; d--) {
    const above = levels[d - 1].total;
    const { parent, total } = levels[d];
    if (d > 1) for (let i = 0; i < parent.length; i++) above[parent[i]] += total[i];
  }
  return new Graph(levels, false);
}

// Where a stack is on its way from the leaf to the root: a node of the forward tree, the samples of
// the leaf, and the node of the level before that they were counted in.
function leafPlaces(forward) {
  const places = [];
  for (let node = 1; node < forward.count; node++)
    if (forward.self[node] > 0) places.push({ node, weight: forward.self[node], group: 0 });
  return places;
}

// One level of the callers' tree out of the places sorted by group and frame. Nodes below `cut`
// samples are summed up in one hidden node behind their siblings.
function callersLevel(forward, places, cut) {
  const level = { frame: [], parent: [], total: [], self: [], hidden: [] };
  const next = [];
  const add = (frame, parent, total, self, hidden) => {
    level.frame.push(frame);
    level.parent.push(parent);
    level.total.push(total);
    level.self.push(self);
    level.hidden.push(hidden);
  };
  let hidden = { cnt: 0, total: 0 };
  for (let i = 0; i < places.length;) {
    const { group } = places[i];
    const frame = forward.frame[places[i].node];
    let total = 0;
    let self = 0; // of stacks that start here
    let end = i;
    const isSame = ({ node, group: other }) => other === group && forward.frame[node] === frame;
    for (; end < places.length && isSame(places[end]); end++) {
      total += places[end].weight;
      if (forward.depth[places[end].node] === 1) self += places[end].weight;
    }
    if (total >= cut) {
      for (const { node, weight } of places.slice(i, end)) {
        if (forward.depth[node] > 1)
          next.push({ node: forward.parent[node], weight, group: level.frame.length });
      }
      add(frame, group, total, self, 0);
    } else {
      hidden.cnt++;
      hidden.total += total;
    }
    if (hidden.cnt && (end === places.length || places[end].group !== group)) {
      add(hiddenFrame, group, hidden.total, hidden.total, hidden.cnt);
      hidden = { cnt: 0, total: 0 };
    }
    i = end;
  }
  return { level, next };
}

// Callers: each level groups the places of the level before by the frame that called them. In big
// profiles, what weighs less than a pixel of a very large screen is left out.
function reverseGraph(forward) {
  let places = leafPlaces(forward);
  const work = places.reduce((sum, { node }) => sum + forward.depth[node], 0);
  const cut = work > 1500000 ? forward.total[0] / 10000 : 0;
  const levels = [rootLevel(forward.total[0], forward.self[0])];
  const rank = ({ node }) => frameRank[forward.frame[node]];
  while (places.length) {
    places.sort((a, b) => a.group - b.group || rank(a) - rank(b));
    const { level, next } = callersLevel(forward, places, cut);
    levels.push(level);
    places = next;
  }
  return new Graph(levels, true);
}

const forward = decodeGraph();
const totalSamples = forward.total[0];
let reversed = null;
let graph = forward;
