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
  vegaEmbed("#" + id, spec, { actions: false, renderer: "svg", theme: dark ? "dark" : undefined, config: CONFIG })
    .then(({ view }) => {
      views[id] = view;
      view.addEventListener("click", (_, item) => { if (item && item.datum && item.datum.kernel) choose(item.datum.kernel); });
      document.body.dataset.charts = Object.keys(views).length;
    });
}

const table = document.getElementById("kernels");
if (table) {
  const body = table.tBodies[0];
  table.tHead.addEventListener("click", (event) => {
    const column = event.target.cellIndex;
    const key = (row) => { const cell = row.cells[column]; return "value" in cell.dataset ? -Number(cell.dataset.value) : cell.textContent; };
    const rows = [...body.rows].sort((a, b) => (key(a) > key(b)) - (key(a) < key(b)));
    if (table.dataset.sorted === String(column)) rows.reverse();
    table.dataset.sorted = table.dataset.sorted === String(column) ? "" : column;
    body.append(...rows);
  });
  body.addEventListener("click", (event) => choose(event.target.closest("tr").dataset.kernel));
  document.getElementById("filter").addEventListener("input", (event) => {
    const text = event.target.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(text);
  });
}

const tree = document.getElementById("ranges");
if (tree) {
  const depth = (row) => Number(row.dataset.depth);
  tree.tBodies[0].rows[0].classList.add("opened");
  tree.tBodies[0].addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    const opened = row.classList.contains("opens") && row.classList.toggle("opened");
    for (let next = row.nextElementSibling; next && depth(next) > depth(row); next = next.nextElementSibling) {
      next.hidden = !opened || depth(next) > depth(row) + 1;
      next.classList.remove("opened");
    }
  });
}
