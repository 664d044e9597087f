// Search, filter and sort of the table of claims; readable hover over points of figures. All is readable without.
(function () {
  "use strict";
  var form = document.getElementById("filter");
  if (form) {
    var table = document.getElementById("claims"), body = table.tBodies[0], rows = Array.prototype.slice.call(body.rows), at = function (id) { return document.getElementById(id); };
    var fields = ["q", "by-paper", "by-verdict", "by-dataset", "by-kind", "by-group"], order = "";
    var rank = { violated: 0, differs: 1, inconclusive: 2, beside: 3, "not run": 4, agrees: 5, reproduced: 6 };
    var plain = function (text) { return text.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, ""); };
    var text = rows.map(function (row, i) { row.dataset.place = i; return plain(row.textContent + " " + row.dataset.more); });
    var keys = rows.map(function (row) { return Array.prototype.map.call(row.cells, function (cell, i) { return i ? plain(cell.textContent) : rank[row.dataset.verdict]; }); });
    var update = function () {
      var words = plain(at("q").value).split(/\s+/).filter(Boolean), count = 0;
      rows.forEach(function (row) {
        var d = row.dataset, own = text[+d.place];
        var on = (!at("by-paper").value || d.paper === at("by-paper").value) && (!at("by-verdict").value || d.verdict === at("by-verdict").value) &&
          (!at("by-dataset").value || d.datasets.split("|").indexOf(at("by-dataset").value) >= 0) &&
          (!at("by-kind").value || d.kind === at("by-kind").value) && (!at("by-group").value || d.group === at("by-group").value) &&
          words.every(function (word) { return own.indexOf(word) >= 0; });
        row.hidden = !on; count += on ? 1 : 0;
      });
      at("shown").textContent = count + " of " + rows.length; at("none").hidden = count > 0;
      var column = order ? Math.abs(+order) - 1 : -1, sign = +order < 0 ? -1 : 1;
      rows.slice().sort(function (a, b) {
        if (column < 0) { return a.dataset.place - b.dataset.place; }
        var one = keys[+a.dataset.place][column], other = keys[+b.dataset.place][column];
        var first = column ? String(one || "").localeCompare(String(other || ""), "en", { numeric: true }) : one - other;
        return sign * first || a.dataset.place - b.dataset.place;
      }).forEach(function (row) { body.appendChild(row); });
      Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell, i) {
        if (i === column) { cell.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending"); } else { cell.removeAttribute("aria-sort"); }
      });
      var said = fields.map(function (id) { return encodeURIComponent(at(id).value); }).concat(order);
      try { history.replaceState(null, "", said.join("") === "" ? location.pathname : "#" + said.join("/")); } catch (e) { /* some viewers forbid it */ }
    };
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell, i) {
      var button = document.createElement("button");
      button.type = "button"; button.textContent = cell.textContent; cell.textContent = ""; cell.appendChild(button);
      button.addEventListener("click", function () { order = order === String(i + 1) ? String(-i - 1) : order === String(-i - 1) ? "" : String(i + 1); update(); });
    });
    var given = location.hash.slice(1).split("/");
    if (given.length === fields.length + 1) {
      try {
        var asked = given.map(decodeURIComponent);
        fields.forEach(function (id, i) { at(id).value = asked[i]; });
        order = /^-?\d+$/.test(asked[fields.length]) ? asked[fields.length] : "";
      } catch (e) { /* an address that no filter wrote */ }
    }
    form.hidden = false;
    form.addEventListener("input", update); form.addEventListener("submit", function (e) { e.preventDefault(); });
    update();
  }
  var search = document.getElementById("doc-search");
  if (search) {
    var known = JSON.parse(document.getElementById("doc-index").textContent), hits = document.getElementById("doc-hits"), asked = document.getElementById("doc-q");
    known.forEach(function (s) { s.all = (s.of + " " + s.title + " " + s.text).toLowerCase(); });
    search.hidden = false;
    search.addEventListener("submit", function (e) { e.preventDefault(); });
    search.addEventListener("input", function () {
      var words = asked.value.toLowerCase().split(/\s+/).filter(Boolean);
      var found = words.length ? known.filter(function (s) { return words.every(function (w) { return s.all.indexOf(w) >= 0; }); }) : [];
      var together = words.join(" ");
      found.sort(function (a, b) { return (b.all.indexOf(together) >= 0) - (a.all.indexOf(together) >= 0); });
      hits.textContent = ""; hits.hidden = !found.length;
      document.getElementById("doc-count").textContent = words.length ? found.length + " sections" : "";
      found.slice(0, 40).forEach(function (s) {
        var item = document.createElement("li"), link = document.createElement("a"), more = document.createElement("span");
        var at = Math.max(0, s.text.toLowerCase().indexOf(words[0]) - 60);
        link.href = encodeURIComponent(s.page) + ".html#" + s.at; link.textContent = s.of === s.title ? s.title : s.of + ": " + s.title;
        more.className = "small"; more.textContent = " " + (at ? "…" : "") + s.text.slice(at, at + 160) + "…";
        item.appendChild(link); item.appendChild(more); hits.appendChild(item);
      });
    });
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
  document.querySelectorAll(".chip[data-of]").forEach(function (chip) {
    var section = chip.closest("section"), names = chip.dataset.of.split(" "), marks = function () { return section.querySelectorAll(".points use"); };
    var light = function () {
      var any = false;
      marks().forEach(function (mark) { var of = mark.dataset.of || mark.closest(".points").dataset.of || "", on = of.split(" ").some(function (one) { return one && names.indexOf(one) >= 0; }); mark.classList.toggle("its", on); any = any || on; });
      section.classList.toggle("lit", any);
    };
    var out = function () { section.classList.remove("lit"); marks().forEach(function (mark) { mark.classList.remove("its"); }); };
    chip.addEventListener("mouseenter", light); chip.addEventListener("focus", light); chip.addEventListener("mouseleave", out); chip.addEventListener("blur", out);
  });
  document.querySelectorAll(".chart").forEach(function (plot) {
    var svg = plot.querySelector(".canvas svg"), files = plot.querySelector(".files"), button = document.createElement("button"), link = files.querySelector("a");
    button.type = "button"; button.textContent = "PNG"; button.setAttribute("aria-label", "PNG of " + plot.querySelector("figcaption").textContent);
    button.addEventListener("click", function () {
      var copy = svg.cloneNode(true), box = svg.dataset.whole.split(" ").map(Number), rules = getComputedStyle(document.documentElement), style = document.createElementNS("http://www.w3.org/2000/svg", "style"), image = new Image();
      style.textContent = "svg{font-family:sans-serif;" + ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--ink", "--rule", "--bound"].map(function (name) { return name + ":" + rules.getPropertyValue(name); }).join(";") + "}";
      copy.insertBefore(style, copy.firstChild); copy.querySelector(".whole").removeAttribute("display");
      copy.setAttribute("viewBox", svg.dataset.whole); copy.setAttribute("width", box[2] * 3); copy.setAttribute("height", box[3] * 3);
      image.onload = function () {
        var canvas = document.createElement("canvas"), pen = canvas.getContext("2d"), save = document.createElement("a");
        canvas.width = box[2] * 3; canvas.height = box[3] * 3;
        pen.fillStyle = rules.getPropertyValue("--paper"); pen.fillRect(0, 0, canvas.width, canvas.height); pen.drawImage(image, 0, 0);
        save.href = canvas.toDataURL("image/png"); save.download = link.getAttribute("href").split("/").pop().replace(".svg", ".png"); save.click();
      };
      image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
    });
    files.insertBefore(button, link.nextSibling);
  });
  var terms = document.querySelectorAll("a.term");
  if (terms.length) {
    var definition = document.createElement("div"), timer = 0, current = null;
    definition.id = "definition"; definition.setAttribute("role", "tooltip"); definition.hidden = true; document.getElementById("main").appendChild(definition);
    var hide = function () { definition.hidden = true; current = null; }, later = function () { timer = setTimeout(hide, 150); }, stay = function () { clearTimeout(timer); };
    var place = function () {
      if (!current) { return; }
      var box = current.getBoundingClientRect(), high = definition.offsetHeight;
      definition.style.left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - definition.offsetWidth - 8)) + "px";
      definition.style.top = (box.bottom + high + 6 > innerHeight && box.top > high + 6 ? box.top - high - 4 : box.bottom + 4) + "px";
    };
    terms.forEach(function (term) {
      var show = function () { stay(); current = term; definition.textContent = document.getElementById(term.getAttribute("aria-describedby")).textContent; definition.hidden = false; place(); };
      term.addEventListener("mouseenter", show); term.addEventListener("focus", show); term.addEventListener("mouseleave", later); term.addEventListener("blur", later);
    });
    definition.addEventListener("mouseenter", stay); definition.addEventListener("mouseleave", later);
    document.addEventListener("keydown", function (e) { if (e.key === "Escape") { hide(); } }); window.addEventListener("scroll", place, { passive: true });
  }
  var unfold = function () {
    var target = /^#[a-z0-9-]+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    var fold = target && (target.closest("details") || target.querySelector("details.fold"));
    if (fold && !fold.open) { fold.open = true; target.scrollIntoView(); }
  };
  window.addEventListener("hashchange", unfold); unfold();
  window.addEventListener("beforeprint", function () { document.querySelectorAll("details[data-print]").forEach(function (d) { if (d.dataset.was === undefined) { d.dataset.was = d.open ? "1" : ""; } d.open = true; }); });
  window.addEventListener("afterprint", function () { document.querySelectorAll("details").forEach(function (d) { if (d.dataset.was !== undefined) { d.open = d.dataset.was === "1"; delete d.dataset.was; } }); });
})();
