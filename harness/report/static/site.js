// Search, filter and sort of the table of claims; readable hover over points of figures. All is readable without.
(function () {
  "use strict";
  var form = document.getElementById("filter");
  if (form) {
    var body = document.querySelector("#claims tbody"), rows = Array.prototype.slice.call(body.rows), at = function (id) { return document.getElementById(id); };
    var rank = { violated: 0, inconclusive: 1, "not run": 2, reproduced: 3 };
    var text = rows.map(function (row, i) { row.dataset.place = i; return row.textContent.toLowerCase(); });
    var update = function () {
      var words = at("q").value.toLowerCase().split(/\s+/).filter(Boolean), count = 0;
      rows.forEach(function (row) {
        var d = row.dataset, own = text[+d.place];
        var on = (!at("by-paper").value || d.paper === at("by-paper").value) && (!at("by-verdict").value || d.verdict === at("by-verdict").value) &&
          (!at("by-kind").value || d.kind === at("by-kind").value) && (!at("exact").checked || d.fidelity === "exact") &&
          words.every(function (word) { return own.indexOf(word) >= 0; });
        row.hidden = !on; count += on ? 1 : 0;
      });
      at("shown").textContent = count + " of " + rows.length; at("none").hidden = count > 0;
      var by = at("sort").value;
      rows.slice().sort(function (a, b) {
        var first = by === "verdict" ? rank[a.dataset.verdict] - rank[b.dataset.verdict] : by === "effect" ? (+b.dataset.effect || -1) - (+a.dataset.effect || -1) : 0;
        return first || a.dataset.place - b.dataset.place;
      }).forEach(function (row) { body.appendChild(row); });
      var said = ["q", "by-paper", "by-verdict", "by-kind", "sort"].map(function (id) { return encodeURIComponent(at(id).value); }).concat(at("exact").checked ? "1" : "");
      try { history.replaceState(null, "", said.join("") === "paper" ? location.pathname : "#" + said.join("/")); } catch (e) { /* some viewers forbid it */ }
    };
    var given = location.hash.slice(1).split("/");
    if (given.length === 6) {
      ["q", "by-paper", "by-verdict", "by-kind", "sort"].forEach(function (id, i) { at(id).value = decodeURIComponent(given[i]); });
      at("exact").checked = given[5] === "1";
    }
    form.hidden = false;
    form.addEventListener("input", update); form.addEventListener("submit", function (e) { e.preventDefault(); });
    update();
  }
  var tip = document.getElementById("tip");
  document.querySelectorAll(".points use").forEach(function (mark) {
    var title = mark.querySelector("title");
    if (!title) { return; }
    var said = title.textContent;
    mark.addEventListener("mouseenter", function () { title.textContent = ""; tip.textContent = said; tip.hidden = false; });
    mark.addEventListener("mousemove", function (e) { tip.style.left = Math.min(e.clientX + 12, innerWidth - tip.offsetWidth - 8) + "px"; tip.style.top = Math.max(e.clientY - tip.offsetHeight - 10, 4) + "px"; });
    mark.addEventListener("mouseleave", function () { title.textContent = said; tip.hidden = true; });
  });
  window.addEventListener("beforeprint", function () { document.querySelectorAll("details").forEach(function (d) { if (d.dataset.was === undefined) { d.dataset.was = d.open ? "1" : ""; } d.open = true; }); });
  window.addEventListener("afterprint", function () { document.querySelectorAll("details").forEach(function (d) { if (d.dataset.was !== undefined) { d.open = d.dataset.was === "1"; delete d.dataset.was; } }); });
})();
