// Embeds the charts, links the chosen kernel between charts and tables; sorts, opens and filters tables.
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const line = dark ? "#343a45" : "#e3e6eb";
const CONFIG = {
  text: { color: dark ? "#e8eaee" : "#1d2129" }, background: "transparent", font: "system-ui, sans-serif", view: { stroke: line }, legend: { labelFontSize: 12 },
  axis: { labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", gridColor: line, domainColor: line, tickColor: line },
};
const views = {};
let chosen = "";

function choose(key) {
  chosen = key === chosen ? "" : key;
  for (const view of Object.values(views)) {
    if ("chosen" in view.getState({ signals: (name) => name === "chosen" }).signals) view.signal("chosen", chosen).runAsync();
  }
  for (const row of document.querySelectorAll("tr[data-key]")) row.classList.toggle("chosen", row.dataset.key === chosen);
}

for (const [id, spec] of Object.entries(SPECS)) {
  const shown = dark ? JSON.parse(JSON.stringify(spec).replaceAll("#0072B2", "#3a9ad9")) : spec;  // lighter blue on dark paper
  vegaEmbed("#" + id, shown, { actions: false, ast: true, renderer: "svg", theme: dark ? "dark" : undefined, config: CONFIG })
    .then(({ view }) => {
      views[id] = view;
      view.addEventListener("click", (_, item) => { if (item && item.datum && item.datum.kernel) choose(item.datum.kernel); });
      document.body.dataset.charts = Object.keys(views).length;
    });
}

const depth = (row) => Number(row.dataset.depth || 0);

function open(row, opens) {
  const button = row.querySelector(".open");
  if (!button) return;
  button.setAttribute("aria-expanded", opens);
  button.textContent = opens ? "▾" : "▸";
  for (let next = row.nextElementSibling; next && depth(next) > depth(row); next = next.nextElementSibling) {
    if (depth(next) > depth(row) + 1) continue;
    next.hidden = !opens;
    if (!opens) open(next, false);
  }
}

function sort(table, head) {
  const column = head.cellIndex, cell = (body) => body.rows[0].cells[column];
  const isText = ![...table.tBodies].some((body) => "value" in cell(body).dataset);
  const key = (body) => (isText ? cell(body).textContent : Number(cell(body).dataset.value ?? NaN)) || (isText ? "" : -Infinity);
  const first = isText ? "ascending" : "descending", other = isText ? "descending" : "ascending";
  const order = head.getAttribute("aria-sort") === first ? other : first, sign = order === "ascending" ? 1 : -1;
  for (const each of table.tHead.rows[0].cells) each.setAttribute("aria-sort", each === head ? order : "none");
  table.append(...[...table.tBodies].sort((a, b) => sign * ((key(a) > key(b)) - (key(a) < key(b)))));
}

for (const table of document.querySelectorAll("table")) {
  table.addEventListener("click", (event) => {
    const head = event.target.closest("th"), row = event.target.closest("tbody tr");
    if (head) sort(table, head);
    else if (event.target.classList.contains("open")) open(row, event.target.getAttribute("aria-expanded") === "false");
    else if (row && row.dataset.key) choose(row.dataset.key);
  });
  table.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.dataset.key) choose(event.target.dataset.key);
  });
}

for (const field of document.querySelectorAll("input[data-table]")) {
  field.addEventListener("input", () => {
    const text = field.value.toLowerCase(), has = (row) => row.cells[0].textContent.toLowerCase().includes(text);
    for (const body of document.getElementById(field.dataset.table).tBodies) {
      const [row, ...inner] = body.rows;
      row.hidden = ![row, ...inner].some(has);
      open(row, text !== "" && !row.hidden && !has(row));
      if (row.hidden) for (const one of inner) one.hidden = true;
    }
  });
}
