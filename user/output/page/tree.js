// SPDX-License-Identifier: Apache-2.0
// The call tree as the pages of a profile and of a comparison have it: frames by number, nodes by level.

const data = JSON.parse(document.getElementById('data').textContent);
const $ = (id) => document.getElementById(id);

// ---- the call tree ------------------------------------------------------------------------

// enum tree_kind
const KIND_JIT = 2;
const KIND_INLINED = 5;
const KIND_UNKNOWN = 6;
const KIND_HIDDEN = 8;
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const digitOf = new Uint8Array(128);
for (let i = 0; i < DIGITS.length; i++) digitOf[DIGITS.charCodeAt(i)] = i;

// Two frames of our own behind those of the profile: what stands for nodes left out, and for code
// that is not looked at.
const hiddenFrame = data.names.length;
const otherFrame = hiddenFrame + 1;
const names = [...data.names, 'hidden', '[other code]'];
function decodeDigits(text) {
  const values = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) values[i] = digitOf[text.charCodeAt(i)];
  return values;
}
const kindOf = decodeDigits(data.frameKinds + DIGITS[KIND_HIDDEN] + DIGITS[KIND_UNKNOWN]);
const shadeOf = decodeDigits(data.frameShades + DIGITS[0] + DIGITS[0]);
const { rootFrame } = data;
const isJava = (frame) => kindOf[frame] >= KIND_JIT && kindOf[frame] <= KIND_INLINED;

// Numbers of page_parts.c: 5-bit groups, least first, 32 added to all but the last.
function makeReader(text, at = 0) {
  return {
    more: () => at < text.length,
    position: () => at,
    number() {
      let value = 0;
      for (let unit = 1; ; unit *= 32) {
        const digit = digitOf[text.charCodeAt(at++)];
        value += (digit & 31) * unit;
        if (digit < 32) return value;
      }
    },
  };
}

// Nodes by level: those of one depth are neighbours and sorted by x, and so are the children of
// one node. Node 0 is the root. x, total and self are in samples.
class Graph {
  constructor(levels, isReversed) {
    const count = levels.reduce((sum, level) => sum + level.frame.length, 0);
    this.isReversed = isReversed;
    this.count = count;
    this.frame = new Uint32Array(count);
    this.parent = new Uint32Array(count);
    this.depth = new Uint16Array(count);
    this.x = new Float64Array(count);
    this.total = new Float64Array(count);
    this.self = new Float64Array(count);
    this.hidden = new Uint32Array(count);
    this.childStart = new Uint32Array(count + 1);
    this.rowStart = [0];
    let start = 0;
    let before = 0;
    for (let depth = 0; depth < levels.length; depth++) {
      const level = levels[depth];
      this.frame.set(level.frame, start);
      this.total.set(level.total, start);
      this.self.set(level.self, start);
      this.hidden.set(level.hidden, start);
      for (let i = 0; i < level.frame.length; i++) {
        this.depth[start + i] = depth;
        this.parent[start + i] = before + (level.parent[i] || 0);
      }
      before = start;
      start += level.frame.length;
      this.rowStart.push(start);
    }
    this.linkChildren();
  }

  linkChildren() {
    let child = 1;
    for (let node = 0; node < this.count; node++) {
      let x = this.x[node];
      this.childStart[node] = child;
      while (child < this.count && this.parent[child] === node) {
        this.x[child] = x;
        x += this.total[child++];
      }
    }
    this.childStart[this.count] = child;
  }

  childEnd(node) { return this.childStart[node + 1]; }

  // First node of [start, end) whose right edge lies right of x.
  firstEndingAfter(start, end, x) {
    while (start < end) {
      const middle = (start + end) >>> 1;
      if (this.x[middle] + this.total[middle] > x) end = middle;
      else start = middle + 1;
    }
    return start;
  }

  firstStartingAt(start, end, x) {
    while (start < end) {
      const middle = (start + end) >>> 1;
      if (this.x[middle] >= x) end = middle;
      else start = middle + 1;
    }
    return start;
  }

  // Per depth below `node` the range of its nodes: ranges[i] = [start, end) at depth(node) + i.
  rangesBelow(node) {
    const ranges = [];
    let start = node;
    let end = node + 1;
    while (start < end) {
      ranges.push([start, end]);
      const next = this.childStart[start];
      end = this.childStart[end];
      start = next;
    }
    return ranges;
  }

  path(node) {
    const path = [];
    for (; node !== 0; node = this.parent[node]) path.push(node);
    return path.reverse();
  }

  // The node's frame, behind those that were left out in front of it: without them siblings may look alike.
  hashes(node) {
    return [...this.passed?.[node] ?? [], this.frame[node]].map(frameHash);
  }

  hashPath(node) {
    return this.path(node).flatMap((at) => this.hashes(at));
  }

  // The child at which a path goes on, and how much of it that is. Of one that ends among frames that are left out
  // here it is the box behind them; one from before it had these frames goes by the box's own.
  childOnPath(node, path) {
    const begins = (own) => own.every((hash, i) => i >= path.length || hash === path[i]);
    const children = Array.from({ length: this.childEnd(node) - this.childStart[node] }, (_, i) => this.childStart[node] + i);
    const child = children.find((one) => begins(this.hashes(one)));
    if (child !== undefined) return [child, this.hashes(child).length];
    return [children.find((one) => frameHash(this.frame[one]) === path[0]) ?? -1, 1];
  }

  // As far as it goes: the profile may have changed.
  followPath(path) {
    let node = 0;
    while (path.length) {
      const [child, length] = this.childOnPath(node, path);
      if (child < 0) break;
      node = child;
      path = path.slice(length);
    }
    return node;
  }
}

// Nodes of one depth; `parent` counts within the level above.
const newLevel = () => ({ frame: [], parent: [], total: [], self: [], hidden: [] });

function rootLevel(total, self, frame = rootFrame) {
  return { frame: [frame], parent: [0], total: [total], self: [self], hidden: [0] };
}

// Steps of the zoom path in the address: short, and the same when the page is made again. Where the
// tiers of a method are one frame, it is the same whichever of them had most of the time.
const hashes = new Map();
let mergesTiers = false;
function frameHash(frame) {
  let hash = hashes.get(frame);
  if (hash !== undefined) return hash;
  hash = 2166136261 ^ (mergesTiers && isJava(frame) ? KIND_JIT : kindOf[frame]);
  for (let i = 0; i < names[frame].length; i++)
    hash = Math.imul(hash ^ names[frame].charCodeAt(i), 16777619);
  hash = (hash >>> 0).toString(36);
  hashes.set(frame, hash);
  return hash;
}
