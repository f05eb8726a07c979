// SPDX-License-Identifier: Apache-2.0
// Times and amounts as text. Times are Unix seconds; people see the browser's time zone.

const $ = (id) => document.getElementById(id);

const pad = (number) => String(number).padStart(2, '0');

function formatTime(time, withDate) {
  const date = new Date(time * 1000);
  const ms = date.getMilliseconds();
  const clock = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}` +
    (ms ? `.${String(ms).padStart(3, '0')}` : '');
  if (!withDate) return clock;
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${clock}`;
}

const isSameDay = (a, b) => formatTime(a, true).slice(0, 10) === formatTime(b, true).slice(0, 10);

const formatRange = ([from, to]) =>
  `${formatTime(from, true)} to ${formatTime(to, !isSameDay(from, to))}`;

// "GMT+1": pages are passed on to people elsewhere.
const zoneOf = (time) => new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' })
  .formatToParts(time * 1000).find(({ type }) => type === 'timeZoneName').value;

function formatDuration(seconds) {
  const parts = [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]];
  const words = [];
  if (seconds < 10 && !Number.isInteger(seconds)) return `${Math.round(seconds * 1000)} ms`;
  for (const [unit, size] of parts) {
    const count = Math.floor(seconds / size);
    if (count) words.push(`${count} ${unit}`);
    seconds -= count * size;
  }
  return words.slice(0, 2).join(' ') || '0 s';
}

function formatAmount(value) {
  if (value === null) return '\u2013';
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(value >= 10 ? 1 : 2);
}

// For a shell: quoted where that is needed.
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// As commands take it.
const utc = (time) => new Date(time * 1000).toISOString().replace('.000Z', 'Z');
