// SPDX-License-Identifier: Apache-2.0
// Tables of both pages: cells, a head that sorts, rows in steps. A page has of its own: sort,
// saveState().

const ROWS_STEP = 200;
const ROWS_AT_ONCE = 20; // about what a screen shows
let rowsShown = ROWS_STEP;

// part: length of a bar behind the text, of 1.
function cell(text, className, part) {
  const td = document.createElement('td');
  td.textContent = text;
  if (className) td.className = className;
  if (part !== undefined) td.style.setProperty('--part', (100 * part).toFixed(1) + '%');
  return td;
}

// Texts sort upwards at first, numbers downwards.
function renderTableHead(id, columns, render) {
  $(id).replaceChildren(...columns.map((column, i) => {
    const th = document.createElement('th');
    const button = document.createElement('button');
    th.scope = 'col';
    if (column.isText) th.className = 'text';
    if (column.key === sort.column)
      th.setAttribute('aria-sort', sort.down ? 'descending' : 'ascending');
    button.textContent = column.label;
    if (column.title) button.title = column.title;
    button.addEventListener('click', () => {
      sort = { column: column.key, down: sort.column === column.key ? !sort.down : !column.isText };
      render();
      saveState(false);
      $(id).children[i].firstChild.focus();
    });
    th.append(button);
    return th;
  }));
}

// Laying out 200 rows takes longer than the whole graph: what is in sight comes first.
let turnOfRows = 0;
function showRows(id, rows, makeRow) {
  const turn = ++turnOfRows;
  const later = rows.slice(ROWS_AT_ONCE, rowsShown);
  $(id).replaceChildren(...rows.slice(0, ROWS_AT_ONCE).map(makeRow));
  if (later.length === 0) return;
  requestAnimationFrame(() => setTimeout(() => {
    if (turn === turnOfRows) $(id).append(...later.map(makeRow));
  }));
}

function offerMoreRows(count) {
  $('moreRows').hidden = count <= rowsShown;
  const more = formatCount(Math.min(ROWS_STEP, count - rowsShown));
  $('moreRows').textContent = `Show ${more} more of ${formatCount(count)}`;
}
