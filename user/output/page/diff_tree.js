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

// Numbers of diff_html.c. NaN = not known.
function readFixed(reader) {
  const value = reader.number();
  if (value === 0) return NaN;
  return (value % 2 ? (value - 1) / 2 : -value / 2) / FIXED_UNITS;
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

const emptyLevel = () => ({ frame: [], parent: [], sums: [], hidden: [], judgement: [], number: [] });

// Levels with what each node has by itself; children come behind their parent.
function decodeLevels() {
  const root = emptyLevel();
  root.frame.push(rootFrame);
  root.parent.push(0);
  root.sums.push({ shareBefore: 0, shareAfter: 0, samplesBefore: 0, samplesAfter: 0 });
  root.hidden.push(0);
  root.judgement.push(null);
  root.number.push(0);
  const levels = [root];
  const open = [0]; // index within its level of the node last seen at each depth
  const reader = makeReader(data.tree);
  let depth = 0;
  for (let number = 1; reader.more(); number++) {
    const frame = reader.number();
    depth += 1 - reader.number();
    const level = levels[depth] ||= emptyLevel();
    const isHidden = kindOf[frame] === KIND_HIDDEN;
    open[depth] = level.frame.length;
    level.frame.push(frame);
    level.parent.push(open[depth - 1]);
    level.sums.push(readSums(reader));
    level.hidden.push(isHidden ? reader.number() : 0);
    level.judgement.push(isHidden ? null : readJudgement(reader));
    level.number.push(number);
  }
  return levels;
}

function addUp(levels) {
  for (const level of levels) level.self = level.sums.map((sums) => ({ ...sums }));
  for (let depth = levels.length - 1; depth > 0; depth--) {
    const above = levels[depth - 1].sums;
    levels[depth].sums.forEach((sums, i) => {
      const parent = above[levels[depth].parent[i]];
      for (const key in sums) parent[key] += sums[key];
    });
  }
}

function makeGraph(levels, weight) {
  return new Graph(levels.map((level) => ({
    frame: level.frame,
    parent: level.parent,
    hidden: level.hidden,
    total: level.sums.map(weight),
    self: level.self.map(weight),
  })), false);
}

const levels = decodeLevels();
addUp(levels);
// What the width of a frame is; the graph of each is made when it is first looked at.
const WIDTHS = {
  before: (sums) => sums.shareBefore,
  after: (sums) => sums.shareAfter,
  sum: (sums) => sums.shareBefore + sums.shareAfter,
};
const madeGraphs = {};
const graphOf = (width) => (madeGraphs[width] ||= makeGraph(levels, WIDTHS[width]));
const ofNodes = (key) => [].concat(...levels.map((level) => level[key]));
const judgements = ofNodes('judgement');
const sumsOf = ofNodes('sums');
const nodeByNumber = new Uint32Array(judgements.length); // order of diff_html.c -> node
ofNodes('number').forEach((number, node) => { nodeByNumber[number] = node; });
let graph = graphOf('after');

// Is a frame surely not there any more, or surely new? What is below such a frame is, too.
const isGhost = new Uint8Array(judgements.length);
const isFresh = new Uint8Array(judgements.length);
for (let node = 1; node < judgements.length; node++) {
  const { shareBefore, shareAfter } = sumsOf[node];
  const verdict = judgements[node] ? judgements[node].verdict : UNRESOLVED;
  const parent = graph.parent[node];
  isGhost[node] = shareAfter === 0 && (verdict === GONE || isGhost[parent]);
  isFresh[node] = shareBefore === 0 && (verdict === NEW || isFresh[parent]);
}

const isFound = (judgement) => judgement !== null && judgement.verdict > SAME;
