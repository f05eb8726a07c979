// SPDX-License-Identifier: Apache-2.0
// A comparison's call tree: one tree, three widths. What is judged is in judgements, by node.

const SHARE_UNITS = 1e9;
const FIXED_UNITS = 1e5;
// enum diff_verdict
const UNRESOLVED = 0;
const SAME = 1;
const MOVED = 4;
const NEW = 6;
const GONE = 7;
// What a node has on each side, in the order of the text.
const SUMS = ['shareBefore', 'shareAfter', 'samplesBefore', 'samplesAfter'];

// Numbers of diff_html.c. NaN = not known.
function readFixed(reader) {
  const value = reader.number();
  if (value === 0) return NaN;
  return (value % 2 ? (value - 1) / 2 : -value / 2) / FIXED_UNITS;
}

// Its verdict; the rest is passed over.
function skipJudgement(reader) {
  const verdict = reader.number() & 7;
  let left = 5;
  if (verdict === NEW || verdict === GONE) left = 7;
  if (verdict === MOVED) left = 6;
  for (; left > 0; left--) reader.number();
  return verdict;
}

function readJudgement(reader) {
  const flags = reader.number();
  const judgement = {
    verdict: flags & 7,
    isAlarm: (flags & 8) !== 0,
    isTested: (flags & 16) !== 0,
    change: readFixed(reader),
    low: readFixed(reader),
    high: readFixed(reader),
    q: Math.pow(10, -readFixed(reader)),
    detectable: readFixed(reader),
  };
  if (judgement.verdict === NEW || judgement.verdict === GONE)
    judgement.points = [readFixed(reader), readFixed(reader)];
  if (judgement.verdict === MOVED) judgement.movedWith = reader.number() - 1;
  return judgement;
}

function readSums(reader) {
  return {
    shareBefore: reader.number(),
    shareAfter: reader.number(),
    samplesBefore: reader.number(),
    samplesAfter: reader.number(),
  };
}

// Nodes as they come in the text, by number; the root is 0. Judgements stay text until they are looked at.
function readTree() {
  const tree = { frame: [rootFrame], depth: [0], parent: [0], hidden: [0], verdict: [UNRESOLVED], textAt: [-1],
    sums: SUMS.map(() => [0]) };
  const reader = makeReader(data.tree);
  const open = [0]; // node last seen at each depth
  let depth = 0;
  for (let number = 1; reader.more(); number++) {
    const frame = reader.number();
    const isHidden = kindOf[frame] === KIND_HIDDEN;
    depth += 1 - reader.number();
    open[depth] = number;
    tree.frame.push(frame);
    tree.depth.push(depth);
    tree.parent.push(open[depth - 1]);
    for (const sums of tree.sums) sums.push(reader.number());
    tree.hidden.push(isHidden ? reader.number() : 0);
    tree.textAt.push(isHidden ? -1 : reader.position());
    tree.verdict.push(isHidden ? UNRESOLVED : skipJudgement(reader));
  }
  return tree;
}

// Numbers of the nodes in the order of class Graph: by depth, and as they come.
function orderByDepth(depths) {
  const starts = [0];
  for (const depth of depths) starts[depth + 1] = (starts[depth + 1] || 0) + 1;
  for (let depth = 1; depth < starts.length; depth++) starts[depth] += starts[depth - 1];
  const next = [...starts];
  return { starts, nodes: Uint32Array.from(depths, (depth) => next[depth]++) };
}

const read = readTree();
const { starts: levelStarts, nodes: nodeByNumber } = orderByDepth(read.depth);

function byNode(ArrayType, values) {
  const sorted = new ArrayType(values.length);
  values.forEach((value, number) => { sorted[nodeByNumber[number]] = value; });
  return sorted;
}

const verdictOf = byNode(Uint8Array, read.verdict);
const textAt = byNode(Int32Array, read.textAt);
const frames = byNode(Uint32Array, read.frame);
const hidden = byNode(Uint32Array, read.hidden);
const parents = byNode(Uint32Array, read.parent.map((number) => nodeByNumber[number]));
const ownSums = read.sums.map((sums) => byNode(Float64Array, sums));
const allSums = ownSums.map((own) => {
  const all = own.slice();
  for (let node = all.length - 1; node > 0; node--) all[parents[node]] += all[node];
  return all;
});
const sumsOf = (node) => Object.fromEntries(SUMS.map((key, i) => [key, allSums[i][node]]));

const judgements = new Map(); // by node, of those that were looked at
function judgementOf(node) {
  if (textAt[node] < 0) return null;
  if (!judgements.has(node)) judgements.set(node, readJudgement(makeReader(data.tree, textAt[node])));
  return judgements.get(node);
}

// What the width of a frame is; the graph of each is made when it is first looked at.
const WIDTHS = { before: ([before]) => before, after: ([, after]) => after,
  sum: ([before, after]) => before.map((share, node) => share + after[node]) };
const madeGraphs = {};

function makeGraph(weight) {
  const [total, self] = [weight(allSums), weight(ownSums)];
  return new Graph(levelStarts.slice(0, -1).map((start, depth) => {
    const level = (values) => values.subarray(start, levelStarts[depth + 1]);
    const above = levelStarts[depth - 1] || 0;
    return { frame: level(frames), parent: level(parents).map((parent) => parent - above), total: level(total), self: level(self), hidden: level(hidden) };
  }), false);
}

const graphOf = (width) => (madeGraphs[width] ||= makeGraph(WIDTHS[width]));
let graph = graphOf('after');

// Is a frame surely not there any more, or surely new? What is below such a frame is, too.
const [sharesBefore, sharesAfter] = allSums;
const isGhost = new Uint8Array(graph.count);
const isFresh = new Uint8Array(graph.count);
for (let node = 1; node < graph.count; node++) {
  const parent = parents[node];
  isGhost[node] = sharesAfter[node] === 0 && (verdictOf[node] === GONE || isGhost[parent]);
  isFresh[node] = sharesBefore[node] === 0 && (verdictOf[node] === NEW || isFresh[parent]);
}

const isFound = (judgement) => judgement !== null && judgement.verdict > SAME;
