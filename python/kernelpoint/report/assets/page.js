// Embeds the charts, links the chosen kernel between charts and table, sorts and filters the table.
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const line = dark ? "#343a45" : "#e3e6eb";
const CONFIG = {
  text: { color: dark ? "#e8eaee" : "#1d2129" }, background: "transparent", font: "system-ui, sans-serif", view: { stroke: line }, legend: { labelFontSize: 12 },
  axis: { labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", gridColor: line, domainColor: line, tickColor: line },
};
const views = {};
let chosen = "";

function choose(kernel) {
  chosen = kernel === chosen ? "" : kernel;
  for (const view of Object.values(views)) {
    if ("chosen" in view.getState({ signals: (name) => name === "chosen" }).signals) view.signal("chosen", chosen).runAsync();
  }
  for (const row of document.querySelectorAll("#kernels tbody tr")) row.classList.toggle("chosen", row.dataset.kernel === chosen);
}

for (const [id, spec] of Object.entries(SPECS)) {
  const shown = dark ? JSON.parse(JSON.stringify(spec).replaceAll("#0072B2", "#3a9ad9")) : spec;  // lighter blue on dark paper
  vegaEmbed("#" + id, shown, { actions: false, renderer: "svg", theme: dark ? "dark" : undefined, config: CONFIG })
    .then(({ view }) => {
      views[id] = view;
      view.addEventListener("click", (_, item) => { if (item && item.datum && item.datum.kernel) choose(item.datum.kernel); });
      document.body.dataset.charts = Object.keys(views).length;
    });
}

const table = document.getElementById("kernels");
if (table) {
  // One body for each kernel: its row, then the rows of its variants.
  const expand = (group, open) => {
    const button = group.querySelector(".open");
    if (!button) return;
    button.setAttribute("aria-expanded", open);
    button.textContent = open ? "▾" : "▸";
    for (const row of [...group.rows].slice(1)) row.hidden = !open;
  };
  table.tHead.addEventListener("click", (event) => {
    const head = event.target.closest("th"), column = head.cellIndex;
    const isText = !("value" in table.tBodies[0].rows[0].cells[column].dataset);
    const first = isText ? "ascending" : "descending";
    const order = head.ariaSort === first ? (isText ? "descending" : "ascending") : first;
    for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", other === head ? order : "none");
    const key = (group) => { const cell = group.rows[0].cells[column]; return isText ? group.rows[0].dataset.kernel : Number(cell.dataset.value); };
    const sign = order === "ascending" ? 1 : -1;
    table.append(...[...table.tBodies].sort((a, b) => sign * ((key(a) > key(b)) - (key(a) < key(b)))));
  });
  table.addEventListener("click", (event) => {
    const group = event.target.closest("tbody");
    if (!group) return;
    if (event.target.classList.contains("open")) expand(group, group.rows[1].hidden);
    else choose(group.rows[0].dataset.kernel);
  });
  table.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.dataset.kernel) choose(event.target.dataset.kernel);
  });
  document.getElementById("filter").addEventListener("input", (event) => {
    const text = event.target.value.toLowerCase(), has = (row) => row.cells[0].textContent.toLowerCase().includes(text);
    for (const group of table.tBodies) {
      const [row, ...variants] = group.rows;
      row.hidden = ![row, ...variants].some(has);
      expand(group, text !== "" && !row.hidden && !has(row));
    }
  });
}
