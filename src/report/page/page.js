// Makes the report interactive: charts, attention viewers, sortable tables, theme.
// The page is complete without this script; a figure whose data it cannot read stays static.
(() => {
  'use strict';

  const SVG = 'http://www.w3.org/2000/svg';
  const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [480, 300, 58, 468, 12, 260];  // of a chart
  const CENTER = (LEFT + RIGHT) / 2;
  const COLORS = 8;  // classes c0 ... c7
  const KEYS = {  // factor and shift of the visible range, see Chart.moveRange
    ArrowLeft: [1, -0.2], ArrowRight: [1, 0.2],
    '+': [0.6, 0], '=': [0.6, 0], '-': [1 / 0.6, 0], '_': [1 / 0.6, 0],
  };

  const hiddenRuns = new Set();
  const groups = [];  // one for each section with line charts

  // ---- Elements

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);  // strings become text nodes
    return node;
  }

  const html = (tag, attributes = {}, ...children) =>
    fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);
  const svgLine = (name, x1, y1, x2, y2) => svg('line', {class: name, x1, y1, x2, y2});
  const svgText = (name, x, y, text, anchor = 'middle', angle = 0) => svg('text', {
    class: name, x, y, 'text-anchor': anchor, transform: `rotate(${angle} ${x} ${y})`}, text);

  function listen(node, type, listener) {
    node.addEventListener(type, listener);
    return node;
  }

  const button = (attributes, onClick, ...children) =>
    listen(html('button', {type: 'button', ...attributes}, ...children), 'click', onClick);
  const checkbox = (attributes, onChange) =>
    listen(html('input', {type: 'checkbox', ...attributes}), 'change', onChange);
  const select = (name, options, onChange) =>
    listen(setOptions(html('select', {name}), options), 'change', onChange);

  // `options` are [value, text]; keeps the choice if it is still there.
  function setOptions(node, options) {
    const chosen = node.value;
    node.replaceChildren(...options.map(([value, text]) => html('option', {value}, text)));
    if (options.some(([value]) => String(value) === chosen)) node.value = chosen;
    return node;
  }

  const numbered = (items, text) => items.map((item, index) => [index, text(item)]);

  // Position of the pointer in the coordinates of an SVG's viewBox.
  function pointIn(root, event) {
    const box = root.getBoundingClientRect();
    const view = root.viewBox.baseVal;
    return {x: (event.clientX - box.left) * view.width / box.width,
            y: (event.clientY - box.top) * view.height / box.height};
  }

  // ---- Tooltip

  const tooltip = html('div', {id: 'tooltip', role: 'tooltip', hidden: ''});

  function showTooltip(x, y, ...children) {
    tooltip.replaceChildren(...children);
    tooltip.hidden = false;
    const {width, height} = tooltip.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
    const top = y + 16 + height > innerHeight ? y - 16 - height : y + 16;
    tooltip.style.left = `${Math.max(4, left)}px`;
    tooltip.style.top = `${Math.max(4, top)}px`;
  }

  function hideTooltip() {
    tooltip.hidden = true;
  }

  function addTips() {
    document.querySelectorAll('figure svg > * > title').forEach((title) => {
      title.parentNode.dataset.tip = title.textContent;  // in place of the browser's own tooltip
      title.remove();
    });
    const show = (event) => {
      const node = event.target.closest('[data-tip]');
      if (!node) return;
      const {right, bottom} = node.getBoundingClientRect();
      showTooltip(event.clientX ?? right, event.clientY ?? bottom, node.dataset.tip);
    };
    const hide = (event) => event.target.closest('[data-tip]') && hideTooltip();
    for (const type of ['pointermove', 'focusin']) listen(document, type, show);
    for (const type of ['pointerout', 'focusout']) listen(document, type, hide);
    listen(document, 'keydown', (event) => event.key === 'Escape' && hideTooltip());
  }

  // The tooltip of an SVG of cells; `describe` returns the text at a position, if there is one.
  function addCellTips(root, describe) {
    listen(root, 'pointermove', (event) => {
      const text = describe(pointIn(root, event));
      if (text) showTooltip(event.clientX, event.clientY, text);
      else hideTooltip();
    });
    listen(root, 'pointerleave', () => { describe({x: -1, y: -1}); hideTooltip(); });
  }

  // ---- Numbers, ticks, scales

  function formatNumber(value) {
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString('en-US');
    return String(Number(value.toPrecision(6)));
  }

  function formatDuration(seconds) {
    if (seconds < 60) return `${formatNumber(seconds)} s`;
    const minutes = Math.floor(seconds / 60);
    const rest = `${minutes % 60} min ${Math.floor(seconds % 60)} s`;
    return minutes < 60 ? rest : `${Math.floor(minutes / 60)} h ${rest}`;
  }

  // Labels of ticks that are `step` apart: 250k, 0.05, 1.5e-4.
  function tickFormat(largest, step) {
    const exponent = Math.floor(Math.log10(step) + 1e-9);
    if (largest < 1e-3) {
      const digits = (value) => Math.floor(Math.log10(Math.abs(value)) + 1e-9) - exponent;
      return (value) => value === 0 ? '0' : value.toExponential(Math.max(0, digits(value)));
    }
    const thousands = largest < 1e4 ? 0 : Math.min(4, Math.floor(Math.log10(largest) / 3));
    const digits = Math.min(20, Math.max(0, 3 * thousands - exponent));
    const suffix = ['', 'k', 'M', 'B', 'T'][thousands];
    return (value) => value === 0 ? '0' : (value / 1000 ** thousands).toFixed(digits) + suffix;
  }

  function multiples(low, high, step) {
    const first = Math.ceil(low / step - 1e-9);
    const count = Math.min(50, Math.floor(high / step + 1e-9) - first + 1);
    return Array.from({length: Math.max(0, count)}, (_, index) => (first + index) * step);
  }

  function linearTicks(low, high, count) {
    const rough = (high - low) / count * (1 - 1e-9);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    const format = tickFormat(Math.max(Math.abs(low), Math.abs(high)), step);
    return multiples(low, high, step).map((value) => ({value, text: format(value)}));
  }

  // Powers of 10; in a short range also 2 and 5 times these, or linear ticks.
  function logTicks(low, high, count) {
    const [first, last] = [Math.log10(low), Math.log10(high)];
    const factors = last - first < 2 ? [1, 2, 5] : [1];
    const values = multiples(Math.floor(first), last, Math.ceil((last - first) / 8))
      .flatMap((exponent) => factors.map((factor) => factor * 10 ** exponent))
      .filter((value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
    if (values.length < 3 && last - first < 2) return linearTicks(low, high, count);
    const format = (value) => value >= 1e4 || value < 1e-3
      ? value.toExponential(0).replace('+', '') : String(Number(value.toPrecision(2)));
    return values.map((value) => ({value, text: format(value)}));
  }

  // Seconds, in the unit that fits the distance of the ticks.
  function timeTicks(low, high, count) {
    const rough = (high - low) / count;
    if (rough < 1) {
      return linearTicks(low, high, count).map(({value, text}) => ({value, text: `${text} s`}));
    }
    const [minute, hour, day] = [60, 3600, 86400];
    const step = [1, 2, 5, 10, 15, 30, ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
                  ...[1, 2, 3, 6, 12].map((count) => count * hour)].find((size) => size >= rough)
      || day * Math.ceil(rough / day);
    const [unit, name] = step < minute ? [1, 's'] : step < hour / 2 ? [minute, 'min'] : [hour, 'h'];
    return multiples(low, high, step)
      .map((value) => ({value, text: `${formatNumber(value / unit)} ${name}`}));
  }

  const axisTitle = ({label}) => label.replace(/ *\(s\)$/, '');  // time ticks have their own units

  const drawable = (value, log) => Number.isFinite(value) && (!log || value > 0);

  // [least, largest] of the values that can be drawn, or null.
  function extent(arrays, log, keep = () => true) {
    let [low, high] = [Infinity, -Infinity];
    for (const values of arrays) {
      values.forEach((value, index) => {
        if (!drawable(value, log) || !keep(index)) return;
        low = Math.min(low, value);
        high = Math.max(high, value);
      });
    }
    return low <= high ? [low, high] : null;
  }

  // A range that is not empty, with a margin at both ends that does not cross 0.
  function widen([low, high], log, margin) {
    const equal = Math.abs(low) / 10 || 1;
    if (low === high) return log ? [low / 2, high * 2] : [low - equal, high + equal];
    if (log) return [low / (high / low) ** margin, high * (high / low) ** margin];
    const pad = (high - low) * margin;
    return [low >= 0 ? Math.max(0, low - pad) : low - pad, high + pad];
  }

  // Maps the range [low, high] to positions [from, to] and back.
  function makeScale([low, high], log, from, to) {
    const forward = log ? Math.log10 : (value) => value;
    const back = log ? (value) => 10 ** value : (value) => value;
    const factor = (to - from) / (forward(high) - forward(low));
    return {low, high, log, forward, back,
            at: (value) => from + (forward(value) - forward(low)) * factor,
            value: (position) => back(forward(low) + (position - from) / factor)};
  }

  // Exponential moving average, corrected for its start at 0.
  function smooth(values, beta) {
    let [mean, weight] = [0, 0];
    return values.map((value) => {
      if (!Number.isFinite(value)) return null;
      mean = beta * mean + (1 - beta) * value;
      weight = beta * weight + (1 - beta);
      return mean / weight;
    });
  }

  // ---- Line charts

  // Path data of a series: lines between gaps, and points where a line would not show.
  function paths(xs, ys, x, y) {
    const pieces = [[]];
    xs.forEach((value, index) => {
      if ((xs[index + 1] ?? value) < x.low || (xs[index - 1] ?? value) > x.high) return;
      if (!drawable(value, x.log) || !drawable(ys[index], y.log)) pieces.push([]);
      else pieces.at(-1).push(`${x.at(value).toFixed(1)},${y.at(ys[index]).toFixed(1)}`);
    });
    const few = pieces.flat().length <= 30;
    const lines = pieces.filter((piece) => piece.length > 1);
    const points = pieces.filter((piece) => few || piece.length === 1).flat();
    return {line: lines.map((piece) => `M${piece.join('L')}`).join(''),
            points: points.map((point) => `M${point}h0`).join('')};
  }

  // Without the directories that all runs share.
  function shortNames(names) {
    const parts = names.map((name) => name.split('/'));
    let shared = 0;
    while (parts.every((part) => part.length > shared + 1 && part[shared] === parts[0][shared])) {
      shared += 1;
    }
    return parts.map((part) => part.slice(shared).join('/'));
  }

  // Adds names, colours and dashes. To compare runs, the colour is the run's and the dash the
  // metric's; several series of one run have colours of their own.
  function describeSeries(series, runs) {
    const names = [...new Set(series.map(({name}) => name))];
    const single = series.length > 1 && series.every(({run}) => run === series[0].run);
    return series.map((item, index) => {
      const byRun = runs.length > 1 && !single;
      const color = byRun ? item.run : index;
      const dash = (byRun ? names.indexOf(item.name) : 0) + Math.floor(color / COLORS);
      const run = shortNames(runs)[item.run];
      const label = !byRun ? item.name : names.length > 1 ? `${run} · ${item.name}` : run;
      return {...item, index, label, style: `c${color % COLORS} d${dash % 4}`};
    });
  }

  class Chart {
    constructor(figure, spec, data, group) {
      Object.assign(this, {spec, group, axes: data.axes, runs: data.runs, off: new Set()});
      this.series = describeSeries(spec.series, data.runs);
      const gaps = this.series.map((item) => this.meanGap(item));
      const least = Math.min(...gaps.filter((gap) => gap > 0));
      this.series.forEach((item, index) => { item.weight = gaps[index] / least || 1; });
      this.root = svg('svg', {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'chart', tabindex: 0, role: 'application',
        'aria-roledescription': 'line chart',
        'aria-label': `${spec.title}. Left and right arrows move, plus and minus zoom, 0 resets, ` +
          'shift and arrows read values.',
      });
      this.items = this.series.map(({index, label, style, run}) => button(
        {class: 'legend-item', title: this.runs[run]}, () => {
          if (!this.off.delete(index)) this.off.add(index);
          this.draw();
        }, html('span', {class: `swatch ${style}`}), html('span', {}, label)));
      this.draw();  // throws before the figure is changed if the data is incomplete
      figure.querySelector('svg')?.remove();
      figure.append(this.root, html(
        'div', {class: 'legend-items', role: 'group', 'aria-label': 'Series'}, ...this.items));
      this.listen();
    }

    // Mean distance of a series' points. A sparse series (validation) is smoothed less, over the
    // same part of the x-axis as the densest one, or it would lag far behind it.
    meanGap({axis, y}) {
      const xs = (this.axes[axis][this.spec.x[0].name] || []).filter((_, i) => drawable(y[i]));
      return (xs.at(-1) - xs[0]) / (xs.length - 1);
    }

    draw() {
      const {spec, group} = this;
      this.axis = spec.x.find(({name}) => name === group.x) || spec.x[0];
      const beta = spec.smooth ? group.smoothing : 0;
      this.shown = this.series
        .map((item) => ({...item, xs: this.axes[item.axis][this.axis.name], smoothed: beta > 0}))
        .filter(({xs, index, run}) => xs && !this.off.has(index) && !hiddenRuns.has(run))
        .map((item) => ({...item, ys: beta ? smooth(item.y, beta ** item.weight) : item.y}));
      this.marks = (spec.marks || [])
        .map((mark) => ({...mark, x: mark[this.axis.name]}))
        .filter(({run, x}) => !hiddenRuns.has(run) && drawable(x, spec.log_x));
      this.setScales();
      this.cross = svg('g', {class: 'cross'});
      const [width, height] = [RIGHT - LEFT, BOTTOM - TOP];
      const view = {x: LEFT, y: TOP, width, height, viewBox: `${LEFT} ${TOP} ${width} ${height}`};
      const plot = svg('svg', view, ...this.content(), this.cross);  // an inner svg clips
      this.root.replaceChildren(...this.frame(), plot);
      this.updateLegend();
    }

    updateLegend() {
      this.items.forEach((item, index) => {
        const {label, run, axis} = this.series[index];
        const missing = !this.axes[axis][this.axis.name];
        item.disabled = missing;
        item.hidden = hiddenRuns.has(run);
        item.lastChild.textContent = missing ? `${label} (no ${this.axis.name})` : label;
        item.setAttribute('aria-pressed', String(!missing && !this.off.has(index)));
      });
    }

    setScales() {
      const {log_x: logX, log_y: ownLogY, diagonal} = this.spec;
      const logY = this.group.logY ?? ownLogY;
      const unit = diagonal ? [[0, 1]] : [];
      const all = extent([...this.shown.map(({xs}) => xs), ...unit], logX);
      this.full = widen(all || [1, 10], logX, 0);
      const [low, high] = this.group.zooms[this.axis.name] || this.full;
      this.x = makeScale([low, high], logX, LEFT, RIGHT);
      const limits = this.shown.map(({xs, y, ys}) => extent(
        [y, ys], logY, (index) => xs[index] >= low && xs[index] <= high));
      const y = extent([...limits.filter(Boolean), ...unit], logY) || [1, 10];
      this.y = makeScale(widen(y, logY, diagonal ? 0 : 0.05), logY, BOTTOM, TOP);
    }

    frame() {
      const {axis, x, y, spec} = this;
      const makeTicks = x.log ? logTicks : axis.name === 'time' ? timeTicks : linearTicks;
      const xTicks = makeTicks(x.low, x.high, 6);
      const yTicks = (y.log ? logTicks : linearTicks)(y.low, y.high, 5);
      return [
        ...xTicks.map(({value}) => svgLine('grid', x.at(value), TOP, x.at(value), BOTTOM)),
        ...yTicks.map(({value}) => svgLine('grid', LEFT, y.at(value), RIGHT, y.at(value))),
        svg('path', {class: 'axis', d: `M${LEFT},${TOP}V${BOTTOM}H${RIGHT}`}),
        ...xTicks.map(({value, text}) => svgText('tick', x.at(value), BOTTOM + 15, text)),
        ...yTicks.map(({value, text}) => svgText('tick', LEFT - 5, y.at(value) + 4, text, 'end')),
        svgText('label', CENTER, HEIGHT - 6, axisTitle(axis)),
        svgText('label', 10, (TOP + BOTTOM) / 2, spec.y_label || '', 'middle', -90),
      ];
    }

    content() {
      const {x, y, spec, shown} = this;
      const nodes = this.marks.map(
        (mark) => svgLine('mark', x.at(mark.x), TOP, x.at(mark.x), BOTTOM));
      if (spec.diagonal) {
        const values = Array.from({length: 65}, (_, i) => x.value(LEFT + (RIGHT - LEFT) * i / 64));
        nodes.push(svg('path', {class: 'diagonal', d: paths(values, values, x, y).line}));
      }
      for (const {xs, y: raw, style} of shown.filter(({smoothed}) => smoothed)) {
        nodes.push(svg('path', {class: `series raw ${style}`, d: paths(xs, raw, x, y).line}));
      }
      for (const {xs, ys, style} of shown) {
        const {line, points} = paths(xs, ys, x, y);
        nodes.push(svg('path', {class: `series ${style}`, d: line}));
        if (points) nodes.push(svg('path', {class: `points ${style}`, d: points}));
      }
      if (!shown.length) nodes.push(svgText('label', CENTER, HEIGHT / 2, 'Nothing selected'));
      return nodes;
    }

    zoom(range) {
      this.group.setZoom(this.axis.name, range);
    }

    // Scales the visible range about `center` (0 left, 1 right), then moves it by a part of it.
    moveRange(factor, shift, center = 0.5) {
      const {forward, back} = this.x;
      const [first, last] = this.full.map(forward);
      const [low, high] = [this.x.low, this.x.high].map(forward);
      const width = Math.max((last - first) * 1e-6, (high - low) * factor);
      if (width >= last - first) return this.zoom(null);
      const wanted = low + (high - low) * (center + shift) - width * center;
      const start = Math.min(Math.max(wanted, first), last - width);
      this.zoom([back(start), back(start + width)]);
    }

    // The visible point of each series that is nearest to a position.
    nearest(position) {
      const {x, y} = this;
      return this.shown.map((item) => {
        let [best, distance] = [-1, Infinity];
        item.xs.forEach((value, index) => {
          if (!drawable(item.ys[index], y.log) || !(value >= x.low && value <= x.high)) return;
          const found = Math.abs(x.at(value) - position);
          if (found < distance) [best, distance] = [index, found];
        });
        return {...item, distance, x: item.xs[best], y: item.ys[best], raw: item.y[best]};
      }).filter(({distance}) => distance < Infinity);
    }

    hover(position, clientX, clientY) {
      const found = this.nearest(position);
      if (!found.length) return this.leave();
      const main = found.reduce((a, b) => (b.distance < a.distance ? b : a)).x;
      const format = this.axis.name === 'time' ? formatDuration : formatNumber;
      const rows = found.slice(0, 16).map(({style, label, x, y, raw, smoothed}) => {
        const notes = [smoothed && `raw ${formatNumber(raw)}`, x !== main && `at ${format(x)}`];
        return html('div', {class: 'tip-row'}, html('span', {class: `swatch ${style}`}),
                    html('span', {}, label), html('b', {}, formatNumber(y)),
                    html('small', {}, notes.filter(Boolean).join(', ')));
      });
      if (found.length > 16) rows.push(html('div', {}, `and ${found.length - 16} more`));
      const marks = this.marks.filter(({x}) => Math.abs(this.x.at(x) - position) <= 6);
      for (const {run, label} of marks.slice(0, 5)) {
        const name = this.runs.length > 1 ? `${shortNames(this.runs)[run]}: ` : '';
        rows.push(html('div', {class: 'tip-mark'}, name + label));
      }
      if (marks.length > 5) rows.push(html('div', {}, `and ${marks.length - 5} more events`));
      this.cross.replaceChildren(
        svgLine('crosshair', this.x.at(main), TOP, this.x.at(main), BOTTOM),
        ...found.map(({style, x, y}) => svg('circle', {
          class: `dot ${style}`, r: 3, cx: this.x.at(x), cy: this.y.at(y)})));
      const title = html('div', {class: 'tip-title'}, `${axisTitle(this.axis)} ${format(main)}`);
      showTooltip(clientX, clientY, title, ...rows);
    }

    leave() {
      this.cross.replaceChildren();
      hideTooltip();
    }

    listen() {
      const {root} = this;
      const clamp = (event) => Math.min(RIGHT, Math.max(LEFT, pointIn(root, event).x));
      let from = null;  // where a drag began
      listen(root, 'pointerdown', (event) => {
        if (event.button !== 0) return;
        from = clamp(event);
        try { root.setPointerCapture(event.pointerId); } catch { /* the pointer is gone */ }
      });
      listen(root, 'pointermove', (event) => {
        const at = clamp(event);
        if (from === null || Math.abs(at - from) < 4) {
          return this.hover(at, event.clientX, event.clientY);
        }
        hideTooltip();
        const [x, width] = [Math.min(from, at), Math.abs(at - from)];
        this.cross.replaceChildren(
          svg('rect', {class: 'selection', x, width, y: TOP, height: BOTTOM - TOP}));
      });
      listen(root, 'pointerup', (event) => {
        const ends = [from ?? clamp(event), clamp(event)].sort((a, b) => a - b);
        from = null;
        if (ends[1] - ends[0] >= 4) this.zoom(ends.map(this.x.value));
      });
      listen(root, 'pointercancel', () => { from = null; this.leave(); });
      listen(root, 'pointerleave', () => from === null && this.leave());
      listen(root, 'blur', () => this.leave());
      listen(root, 'dblclick', () => this.zoom(null));
      listen(root, 'keydown', (event) => this.key(event));
      root.addEventListener('wheel', (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.moveRange(event.deltaY > 0 ? 1.25 : 0.8, 0, (clamp(event) - LEFT) / (RIGHT - LEFT));
      }, {passive: false});
    }

    key(event) {
      const step = KEYS[event.key];
      const reset = event.key === 'Escape' || event.key === '0';
      if (event.ctrlKey || event.metaKey || event.altKey || !(step || reset)) return;
      event.preventDefault();
      if (reset) {
        this.leave();
        this.zoom(null);
      } else if (event.shiftKey && step[1]) {
        this.cursor = Math.min(RIGHT, Math.max(LEFT, (this.cursor ?? CENTER) + 30 * step[1]));
        const box = this.root.getBoundingClientRect();
        this.hover(this.cursor, box.left + this.cursor * box.width / WIDTH, box.top + 40);
      } else {
        this.moveRange(...step);
      }
    }
  }

  // The charts of a section, which share x-axis, smoothing and zoom.
  class Group {
    constructor() {
      Object.assign(this, {charts: [], x: null, logY: null, smoothing: 0, zooms: {}});
      this.reset = button({name: 'reset-zoom'}, () => this.set({zooms: {}}), 'reset zoom');
    }

    set(values) {
      Object.assign(this, values);
      this.draw();
    }

    setZoom(name, range) {
      const {[name]: _, ...others} = this.zooms;
      this.set({zooms: range ? {...others, [name]: range} : others});
    }

    draw() {
      this.charts.forEach((chart) => chart.draw());
      this.reset.disabled = !Object.keys(this.zooms).length;
    }

    toolbar(runs) {
      const specs = this.charts.map(({spec}) => spec);
      const parts = [];
      const axes = new Map(specs.filter(({x}) => x.length > 1).flatMap(({x}) => x)
        .map((axis) => [axis.name, axisTitle(axis)]));
      if (axes.size) {
        const node = select('x-axis', [...axes], () => this.set({x: node.value}));
        parts.push(html('label', {}, 'x-axis ', node));
      }
      if (specs.some(({diagonal}) => !diagonal)) {
        const node = checkbox({name: 'log-y'}, () => this.set({logY: node.checked}));
        node.checked = specs.every((spec) => spec.log_y);
        parts.push(html('label', {}, node, ' log y'));
      }
      if (specs.some((spec) => spec.smooth)) {
        const node = html('input', {
          type: 'range', name: 'smoothing', min: 0, max: 0.99, step: 0.01, value: 0});
        const output = html('output', {}, '0.00');
        listen(node, 'input', () => {
          output.textContent = Number(node.value).toFixed(2);
          this.set({smoothing: Number(node.value)});
        });
        parts.push(html('label', {}, 'smoothing ', node, output));
      }
      parts.push(this.reset, ...(runs.length > 1 ? [runControls(runs)] : []));
      return html('div', {class: 'toolbar', role: 'group', 'aria-label': 'Charts'}, ...parts);
    }
  }

  // One checkbox for each run. Every toolbar has them; they act on all charts.
  function runControls(runs) {
    const controls = runs.map((run, index) => {
      const node = checkbox({name: 'run', value: index}, () => {
        hiddenRuns[node.checked ? 'delete' : 'add'](index);
        document.querySelectorAll(`input[name=run][value="${index}"]`).forEach(
          (other) => { other.checked = node.checked; });
        groups.forEach((group) => group.draw());
      });
      node.checked = true;
      const swatch = html('span', {class: `swatch c${index % COLORS}`});
      return html('label', {}, node, swatch, html('span', {}, run));
    });
    return html('fieldset', {class: 'runs'}, html('legend', {}, 'runs'), ...controls);
  }

  function addCharts(data) {
    for (const section of document.querySelectorAll('main > section')) {
      const group = new Group();
      for (const figure of section.querySelectorAll('figure')) {
        const spec = data.figures[figure.id];
        if (spec?.type !== 'line') continue;
        attempt(() => group.charts.push(new Chart(figure, spec, data, group)));
      }
      if (!group.charts.length) continue;
      group.draw();
      groups.push(group);
      const figure = group.charts[0].root.closest('figure');
      (figure.closest('.figures') || figure).before(group.toolbar(data.runs));
    }
  }

  // ---- Attention

  function meanOfHeads(heads) {
    return heads[0].map((row, i) => row.map((_, j) =>
      heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length));
  }

  const largestOf = (values) => Math.max(1e-12, ...values);
  const cell = (name, x, y, size, value) => svg('rect', {
    class: name, x, y, width: size, height: size, style: `--v:${value.toFixed(3)}`});

  // A heatmap of weights[row][column] with tokens at its sides.
  function matrix(example, weights, scaleRows, spec) {
    const shorten = (text) => text.length > 14 ? `${text.slice(0, 13)}…` : text;
    const [rows, columns] = [example.rows.map(shorten), example.columns.map(shorten)];
    const [rowLabel, columnLabel] = [`${spec.row_label} ↓`, `${spec.column_label} →`];
    const textWidth = (texts) => 7.3 * largestOf(texts.map(({length}) => length)) + 8;
    const fitting = Math.round(440 / Math.max(rows.length, columns.length));
    const size = Math.min(26, Math.max(13, fitting));
    const left = textWidth([...rows, rowLabel, columnLabel]);
    const top = 0.87 * textWidth(columns) + 14;
    const right = left + columns.length * size;
    const [width, height] = [right + textWidth(columns) / 2, top + rows.length * size + 2];
    const largest = largestOf(weights.flat());
    const band = svg('rect', {class: 'band', x: 1, width: right - 1, height: size, y: -99});
    const labels = rows.map(
      (text, i) => svgText('tick', left - 6, top + (i + 0.5) * size + 4, text, 'end'));
    const root = svg('svg', {viewBox: `0 0 ${width} ${height}`, width, role: 'img',
                             'aria-label': `Attention weights: ${example.title}`},
      svgText('label', left - 6, top - 20, columnLabel, 'end'),
      svgText('label', left - 6, top - 5, rowLabel, 'end'), ...labels,
      ...columns.map((text, j) =>
        svgText('tick', left + (j + 0.6) * size, top - 5, text, 'start', -60)),
      svg('rect', {class: 'cell', x: left, y: top, width: columns.length * size,
                   height: rows.length * size, style: '--v:0'}),
      ...weights.flatMap((row, i) => row.flatMap((value, j) => value === 0 ? [] : cell('cell',
        left + j * size, top + i * size, size, value / (scaleRows ? largestOf(row) : largest)))),
      band);
    addCellTips(root, ({x, y}) => {
      const [i, j] = [Math.floor((y - top) / size), Math.floor((x - left) / size)];
      band.setAttribute('y', i in rows ? top + i * size : -99);
      labels.forEach((label, index) => label.classList.toggle('current', index === i));
      const value = weights[i]?.[j];
      return value !== undefined &&
        `${example.rows[i]} → ${example.columns[j]}: ${formatNumber(value)}`;
    });
    return {root, largest};
  }

  // Puts controls and `view` in place of the static figure once the first drawing succeeded.
  function replaceFigure(figure, controls, view, draw) {
    draw();
    figure.querySelectorAll(':scope > :not(figcaption)').forEach((old) => old.remove());
    const labels = controls.map(([text, node]) => html('label', {}, text, node));
    figure.append(html('div', {class: 'controls'}, ...labels), view);
  }

  function attentionViewer(figure, spec) {
    const view = html('div', {class: 'matrix'});
    const draw = () => {
      const example = spec.examples[sentence.value];
      setOptions(layer, numbered(example.layers, ({name}) => name));
      const {heads, mean = true} = example.layers[layer.value];
      setOptions(head, [...(mean ? [['mean', 'mean over heads']] : []),
                        ...heads.map((_, index) => [index, `head ${index}`])]);
      const weights = head.value === 'mean' ? meanOfHeads(heads) : heads[head.value];
      const {root, largest} = matrix(example, weights, rows.checked, spec);
      const range = rows.checked ? 'the largest weight of the row' : formatNumber(largest);
      const shown = [sentence, layer, head].map((node) => node.selectedOptions[0].text);
      view.replaceChildren(
        html('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Heatmap'}, root),
        html('p', {class: 'note'}, `${shown.join(', ')}. Colours from 0 to ${range}.`));
    };
    const sentence = select('sentence', numbered(spec.examples, ({title}) => title), draw);
    const [layer, head] = [select('layer', [], draw), select('head', [], draw)];
    const rows = checkbox({name: 'scale-rows'}, draw);
    // In causal attention the only weight of the first row is 1: beside it the others look weak.
    rows.checked = spec.examples.every(
      ({layers}) => layers[0].heads[0][0].slice(1).every((weight) => weight === 0));
    replaceFigure(figure, [['sentence ', sentence], ['layer ', layer], ['head ', head],
                           ['scale each row ', rows]], view, draw);
  }

  // The image alone and, beside it, under the cells of the map.
  function imageViewer(figure, spec) {
    const view = html('div', {class: 'pictures'});
    const draw = () => {
      const {title, image: href, rows, columns, maps} = spec.examples[image.value];
      setOptions(map, numbered(maps, ({name}) => name));
      const {name, values} = maps[map.value];
      const largest = largestOf(values);
      const picture = (label, ...cells) => svg(
        'svg', {viewBox: `0 0 ${columns} ${rows}`, role: 'img', 'aria-label': label},
        svg('image', {href, width: columns, height: rows, preserveAspectRatio: 'none'}), ...cells);
      const overlay = picture(`${title}: ${name}`, ...values.map((value, index) => cell(
        'cell overlay', index % columns, Math.floor(index / columns), 1, value / largest)));
      addCellTips(overlay, ({x, y}) => {
        const [row, column] = [Math.floor(y), Math.floor(x)];
        const value = values[row * columns + column];
        return value !== undefined && `row ${row}, column ${column}: ${formatNumber(value)}`;
      });
      const note = `${title}, ${name}. Colours from 0 to ${formatNumber(largest)}.`;
      view.replaceChildren(picture(title), overlay, html('p', {class: 'note'}, note));
    };
    const image = select('image', numbered(spec.examples, ({title}) => title), draw);
    const map = select('map', [], draw);
    replaceFigure(figure, [['image ', image], ['map ', map]], view, draw);
  }

  // ---- Page

  // Numbers are sorted before texts, empty cells last.
  function compareCells(a, b, sign) {
    const rank = ({text, number}) => (text === '' ? 2 : Number.isNaN(number) ? 1 : 0);
    if (rank(a) !== rank(b)) return rank(a) - rank(b);
    return sign * ((a.number - b.number) || a.text.localeCompare(b.text, 'en', {numeric: true}));
  }

  function cellKey(row, column) {
    const text = row.cells[column]?.textContent.trim() ?? '';
    return {text, number: /^[-+]?\.?\d/.test(text) ? parseFloat(text.replaceAll(',', '')) : NaN};
  }

  function makeSortable(table) {
    const headers = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    const [body] = table.tBodies;
    headers.forEach((header, column) => {
      if (body.rows[0]?.cells[column]?.matches('.number')) header.classList.add('number');
      const node = button({class: 'sort'}, () => {
        const sign = header.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
        headers.forEach((other) => other.removeAttribute('aria-sort'));
        header.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
        body.append(...[...body.rows].sort(
          (a, b) => compareCells(cellKey(a, column), cellKey(b, column), sign)));
      }, ...header.childNodes);
      header.append(node);
    });
  }

  function addThemeButton() {
    const themes = ['auto', 'light', 'dark'];
    const root = document.documentElement;
    let current = root.dataset.theme || 'auto';
    try { current = localStorage.getItem('weft-theme') || current; } catch { /* not stored */ }
    const show = () => {
      root.dataset.theme = current;  // auto: the style of the system
      node.textContent = `Theme: ${current}`;
    };
    const node = button({class: 'theme'}, () => {
      current = themes[(themes.indexOf(current) + 1) % themes.length];
      try { localStorage.setItem('weft-theme', current); } catch { /* not stored */ }
      show();
    });
    show();
    document.querySelector('body > header').append(node);
  }

  // A part that fails must not stop the others.
  function attempt(action) {
    try { action(); } catch { /* the static page remains */ }
  }

  function start() {
    document.documentElement.classList.add('js');
    document.body.append(tooltip);
    attempt(addThemeButton);
    attempt(addTips);
    document.querySelectorAll('table.sortable').forEach(
      (table) => attempt(() => makeSortable(table)));
    attempt(() => {
      const data = JSON.parse(document.getElementById('report-data').textContent);
      attempt(() => addCharts(data));
      const viewers = {attention: attentionViewer, 'image-attention': imageViewer};
      for (const [id, spec] of Object.entries(data.figures)) {
        attempt(() => viewers[spec.type]?.(document.getElementById(id), spec));
      }
    });
  }

  start();
})();
