// Tables that sort and filter. Without this script they are complete, in the order of the report.
"use strict";
{
  const FILTERED = 5;
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  const element = (name, attributes, text) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  };

  const compare = (one, other, sign) => {
    const [left, right] = [one.dataset.order, other.dataset.order];
    if (left !== undefined && right !== undefined) return sign * (Number(left) - Number(right));
    // What is unknown has no number, and comes last in both directions.
    if (left !== undefined || right !== undefined) return left === undefined ? 1 : -1;
    return sign * collator.compare(one.textContent, other.textContent);
  };

  const sortable = (table, rows) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => {
      const button = element("button", { type: "button" }, head.textContent);
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const next = now === "none" ? first : now === first ? second : "none";
        for (const each of heads) each.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", next);
        const sign = next === "descending" ? -1 : 1;
        const sorted = [...rows];
        if (next !== "none") sorted.sort((one, other) => compare(one.cells[at], other.cells[at], sign));
        table.tBodies[0].append(...sorted);
      });
    });
  };

  const filterable = (table, rows, title) => {
    const bar = element("div", { class: "filter" });
    const field = element("input", {
      type: "search",
      placeholder: "Filter",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": `Filter ${title}`,
    });
    const count = element("span", { role: "status" }, `${rows.length} rows`);
    const texts = rows.map((row) => row.textContent.toLowerCase());
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/);
      let shown = 0;
      rows.forEach((row, at) => {
        row.hidden = !words.every((word) => texts[at].includes(word));
        shown += row.hidden ? 0 : 1;
      });
      count.textContent = shown === rows.length ? `${rows.length} rows` : `${shown} of ${rows.length} rows`;
    });
    bar.append(field, count);
    table.closest(".scroll").before(bar);
  };

  for (const table of document.querySelectorAll("table")) {
    const rows = [...table.tBodies[0].rows];
    const title = document.getElementById(table.getAttribute("aria-labelledby")).textContent;
    if (rows.length > 1) sortable(table, rows);
    if (rows.length > FILTERED) filterable(table, rows, title);
  }
}
