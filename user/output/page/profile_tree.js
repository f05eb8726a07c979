// SPDX-License-Identifier: Apache-2.0
// A profile's call tree: decoding it, building what is shown of it, and turning it round for callers.

// The tree as it came, in preorder: of each node its frame, its depth, its own samples.
function decodeTree() {
  const most = 1 + Math.floor(data.tree.length / 3); // a digit for each of the three at least
  const tree = { frame: new Uint32Array(most), depth: new Uint32Array(most), self: new Float64Array(most),
    hidden: new Uint32Array(most), count: 1 };
  const reader = makeReader(data.tree);
  tree.frame[0] = rootFrame;
  tree.self[0] = data.rootSelf;
  for (let depth = 0; reader.more(); tree.count++) {
    const frame = reader.number();
    depth += 1 - reader.number();
    tree.frame[tree.count] = frame;
    tree.depth[tree.count] = depth;
    tree.self[tree.count] = reader.number();
    if (kindOf[frame] === KIND_HIDDEN) tree.hidden[tree.count] = reader.number();
  }
  return tree;
}

const decoded = decodeTree();

const frameRank = new Uint32Array(names.length);
Array.from(names.keys())
  .sort((a, b) => (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : kindOf[a] - kindOf[b]))
  .forEach((frame, rank) => { frameRank[frame] = rank; });

// What a stack is made of: nodes of `decoded`, root first, and ~frame for a frame of our own.
const frameOf = (item) => (item < 0 ? ~item : decoded.frame[item]);

// The array is that of the next stack, too.
function forEachStack(visit) {
  const stack = [];
  if (decoded.self[0] > 0) visit(stack, decoded.self[0]);
  for (let node = 1; node < decoded.count; node++) {
    stack.length = decoded.depth[node] - 1;
    stack.push(node);
    if (decoded.self[node] > 0) visit(stack, decoded.self[node]);
  }
}

// Frame -> the one that stands for its method: the tiers of a Java method are one.
const mergedMethods = (() => {
  const first = new Map();
  return Uint32Array.from(names, (name, frame) => {
    if (!isJava(frame)) return frame;
    if (!first.has(name)) first.set(name, frame);
    return first.get(name);
  });
})();
const splitMethods = Uint32Array.from(names, (_, frame) => frame);
let methodOf = mergedMethods;

const TIER_KINDS = Array.from({ length: KIND_INLINED - KIND_JIT + 1 }, (_, i) => KIND_JIT + i);

// A call tree that grows by stacks. Nodes lie in the order in which they came.
class TreeBuilder {
  constructor() {
    this.frame = [rootFrame]; // of a Java method: of the tier with most of its samples, see settle()
    this.parent = [0];
    this.self = [0];
    this.hidden = [0];
    this.tiers = TIER_KINDS.map(() => [0]); // samples of a Java method's node by tier
    this.children = new Map();
    this.last = []; // the stack added last
    this.lastNodes = []; // its nodes
    this.open = []; // by depth: samples that its frame there has more than are in tiers
    this.selfByKind = new Float64Array(data.kinds.length);
    this.hasKind = new Uint8Array(data.kinds.length);
    this.hasKind[kindOf[rootFrame]] = 1;
  }

  child(parent, method) {
    const key = parent * names.length + method;
    let node = this.children.get(key);
    if (node !== undefined) return node;
    node = this.frame.length;
    this.children.set(key, node);
    this.frame.push(method);
    this.parent.push(parent);
    this.self.push(0);
    this.hidden.push(0);
    for (let tier = 0; tier < this.tiers.length; tier++) this.tiers[tier].push(0);
    return node;
  }

  // Most of a stack is the beginning of the one before.
  add(stack, weight) {
    const { last, lastNodes, open } = this;
    let depth = 0;
    while (depth < last.length && stack[depth] === last[depth]) depth++;
    this.close(depth);
    for (; depth < stack.length; depth++) {
      const frame = frameOf(stack[depth]);
      last.push(stack[depth]);
      lastNodes.push(this.child(depth ? lastNodes[depth - 1] : 0, methodOf[frame]));
      open.push(0);
      this.hasKind[kindOf[frame]] = 1;
    }
    const leaf = depth ? last[depth - 1] : 0;
    const node = depth ? lastNodes[depth - 1] : 0;
    if (depth) open[depth - 1] += weight;
    this.self[node] += weight;
    this.selfByKind[kindOf[frameOf(leaf)]] += weight;
    if (leaf > 0) this.hidden[node] += decoded.hidden[leaf];
  }

  // The frames of the last stack from `depth` on are over.
  close(depth) {
    const { last, lastNodes, open } = this;
    while (last.length > depth) {
      const frame = frameOf(last.pop());
      const node = lastNodes.pop();
      const weight = open.pop();
      if (isJava(frame)) this.tiers[kindOf[frame] - KIND_JIT][node] += weight;
      if (open.length) open[open.length - 1] += weight;
    }
  }

  // Sums, and frames of the tier that had most of the time.
  settle() {
    this.close(0);
    const variants = new Map(); // of Java frames: method and kind -> frame
    names.forEach((_, frame) => {
      if (isJava(frame)) variants.set(methodOf[frame] * 16 + kindOf[frame], frame);
    });
    this.total = Float64Array.from(this.self);
    for (let node = this.frame.length - 1; node >= 0; node--) {
      if (node) this.total[this.parent[node]] += this.total[node];
      if (!isJava(this.frame[node])) continue;
      let most = 0;
      for (let tier = 1; tier < this.tiers.length; tier++)
        if (this.tiers[tier][node] > this.tiers[most][node]) most = tier;
      this.frame[node] = variants.get(methodOf[this.frame[node]] * 16 + KIND_JIT + most);
    }
  }

  // Children of all nodes by name, with what is hidden last: those of a node are nodes[i] for i from
  // start[node] to start[node + 1].
  sortedChildren() {
    const count = this.frame.length;
    const byName = new Float64Array(count - 1); // rank and node in one number: these sort themselves
    const start = new Uint32Array(count + 2);
    for (let node = 1; node < count; node++) {
      const frame = this.frame[node];
      const rank = frameRank[frame] + (kindOf[frame] === KIND_HIDDEN ? names.length : 0);
      byName[node - 1] = rank * count + node;
      start[this.parent[node] + 2]++;
    }
    byName.sort();
    for (let node = 0; node <= count; node++) start[node + 1] += start[node];
    const nodes = new Uint32Array(count - 1);
    for (const key of byName) {
      const node = key % count;
      nodes[start[this.parent[node] + 1]++] = node;
    }
    return { nodes, start };
  }

  // collapses: frames that only pass on to one other are left out.
  graph(collapses) {
    this.settle();
    const children = this.sortedChildren();
    const { nodes, start } = children;
    const levels = [rootLevel(this.total[0], this.self[0])];
    const passed = collapses ? new Map() : null; // node here -> frames left out in front of it
    const order = [0];
    for (let first = 0; first < order.length;) {
      const level = newLevel();
      const end = order.length;
      for (let above = first; above < end; above++)
        for (let i = start[order[above]]; i < start[order[above] + 1]; i++) {
          const node = passed ? this.passOn(nodes[i], children, passed) : nodes[i];
          level.frame.push(this.frame[node]);
          level.parent.push(above - first);
          level.total.push(this.total[node]);
          level.self.push(this.self[node]);
          level.hidden.push(this.hidden[node]);
          order.push(node);
        }
      if (order.length > end) levels.push(level);
      first = end;
    }
    const graph = new Graph(levels, false);
    graph.tiers = this.tiers.map((tier) => {
      const inOrder = new Float64Array(order.length);
      for (let i = 0; i < order.length; i++) inOrder[i] = tier[order[i]];
      return inOrder;
    });
    graph.passed = passed && order.map((node) => passed.get(node));
    return graph;
  }

  passOn(node, { nodes, start }, passed) {
    const left = [];
    while (this.self[node] === 0 && start[node + 1] - start[node] === 1) {
      left.push(this.frame[node]);
      node = nodes[start[node]];
    }
    if (left.length) passed.set(node, left);
    return node;
  }
}

// ---- by weight: callers and callees -----------------------------------------------------------

// One level out of places { node, weight, group }: a node of the tree that is gone through, the
// samples that come with it, and the node of the level before to which they belong. next(node): where
// it goes on from there, a list of [node, weight]. Nodes below `cut` samples are summed up in one hidden
// node behind their siblings.
function levelByWeight(tree, places, cut, next) {
  const entries = new Map();
  for (const { node, weight, group } of places) {
    const method = methodOf[tree.frame[node]];
    const key = group * names.length + method;
    let entry = entries.get(key);
    if (!entry) {
      entry = { group, frame: tree.frame[node], total: 0, most: 0, hidden: 0, places: [] };
      entries.set(key, entry);
    }
    entry.total += weight;
    entry.hidden += tree.hidden[node];
    entry.places.push([node, weight]);
    if (weight > entry.most) { entry.most = weight; entry.frame = tree.frame[node]; }
  }
  const sorted = [...entries.values()].sort((a, b) =>
    a.group - b.group || b.total - a.total || frameRank[a.frame] - frameRank[b.frame]);
  const level = newLevel();
  const coming = [];
  let hidden = { cnt: 0, total: 0 };
  const add = (frame, parent, total, self, cnt) => {
    level.frame.push(frame);
    level.parent.push(parent);
    level.total.push(total);
    level.self.push(self);
    level.hidden.push(cnt);
  };
  sorted.forEach((entry, i) => {
    if (entry.total >= cut) {
      let self = entry.total;
      for (const [node, weight] of entry.places)
        for (const [following, part] of next(node, weight)) {
          coming.push({ node: following, weight: part, group: level.frame.length });
          self -= part;
        }
      add(entry.frame, entry.group, entry.total, self, entry.hidden);
    } else {
      hidden.cnt++;
      hidden.total += entry.total;
    }
    if (hidden.cnt && (i + 1 === sorted.length || sorted[i + 1].group !== entry.group)) {
      add(hiddenFrame, entry.group, hidden.total, hidden.total, hidden.cnt);
      hidden = { cnt: 0, total: 0 };
    }
  });
  return { level, coming };
}

function graphByWeight(tree, root, places, next, isReversed) {
  // In big profiles, what weighs less than a pixel of a very large screen is left out.
  const work = places.reduce((sum, { node }) => sum + tree.depth[node], 0);
  const cut = work > 1500000 ? root.total[0] / 10000 : 0;
  const levels = [root];
  while (places.length) {
    const { level, coming } = levelByWeight(tree, places, cut, next);
    levels.push(level);
    places = coming;
  }
  return new Graph(levels, isReversed);
}

function callerOf(tree) {
  return (node, weight) => (tree.depth[node] > 1 ? [[tree.parent[node], weight]] : []);
}

// From the leafs to the root.
function reverseGraph(tree) {
  const places = [];
  for (let node = 1; node < tree.count; node++)
    if (tree.self[node] > 0) places.push({ node, weight: tree.self[node], group: 0 });
  return graphByWeight(tree, rootLevel(tree.total[0], tree.self[0]), places, callerOf(tree), true);
}

// A method's places that have none above them: what recurs counts once.
function outermostPlaces(tree, method) {
  const isBelow = new Uint8Array(tree.count);
  const found = [];
  for (let node = 1; node < tree.count; node++) {
    const isIt = mergedMethods[tree.frame[node]] === method;
    isBelow[node] = isBelow[tree.parent[node]] || isIt ? 1 : 0;
    if (isIt && !isBelow[tree.parent[node]]) found.push(node);
  }
  return found;
}

// Who calls a method, and what it calls: two trees whose root it is. null when it is not there.
function sandwichGraphs(tree, method) {
  const found = outermostPlaces(tree, method);
  if (!found.length) return null;
  const sum = (values) => found.reduce((total, node) => total + values[node], 0);
  const heaviest = found.reduce((a, b) => (tree.total[b] > tree.total[a] ? b : a));
  const root = () => rootLevel(sum(tree.total), sum(tree.self), tree.frame[heaviest]);
  const above = found.filter((node) => tree.depth[node] > 1)
    .map((node) => ({ node: tree.parent[node], weight: tree.total[node], group: 0 }));
  const callees = (node) => {
    const list = [];
    for (let i = tree.childStart[node]; i < tree.childEnd(node); i++) list.push([i, tree.total[i]]);
    return list;
  };
  const below = found.flatMap((node) => callees(node))
    .map(([node, weight]) => ({ node, weight, group: 0 }));
  return {
    callers: graphByWeight(tree, root(), above, callerOf(tree), true),
    callees: graphByWeight(tree, root(), below, callees, false),
  };
}
