// Uses a report as a reader would and writes what it found to #results, for report_test.cpp.
(() => {
  'use strict';
  const results = {};
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const pointer = (node, type, x, y) => node.dispatchEvent(new PointerEvent(type, {
    bubbles: true, pointerId: 1, button: 0, clientX: x, clientY: y}));
  const change = (node, value) => {
    if (node.type === 'checkbox') node.checked = value;
    else node.value = value;
    node.dispatchEvent(new Event('input', {bubbles: true}));
    node.dispatchEvent(new Event('change', {bubbles: true}));
  };
  const attempt = (name, action) => {
    try {
      results[name] = action();
    } catch (error) {
      results[name] = `failed: ${error.message}`;
    }
  };
  const place = (chart, x, y) => {
    const box = chart.getBoundingClientRect();
    return [box.left + box.width * x / 480, box.top + box.height * y / 300];
  };
  const ticks = (chart) => all('.tick', chart).map((node) => node.textContent).join(' ');
  const chart = () => one('#training figure.line svg');

  attempt('interactive', () => document.documentElement.classList.contains('js'));
  attempt('hover', () => {
    pointer(chart(), 'pointermove', ...place(chart(), 300, 120));
    return one('#tooltip').hidden ? '' : one('#tooltip').textContent;
  });
  attempt('zoom', () => {
    const before = ticks(chart());
    pointer(chart(), 'pointerdown', ...place(chart(), 100, 120));
    pointer(chart(), 'pointermove', ...place(chart(), 200, 120));
    pointer(chart(), 'pointerup', ...place(chart(), 200, 120));
    const zoomed = ticks(chart());
    one('[name=reset-zoom]').click();
    return before !== zoomed && before === ticks(chart());
  });
  attempt('axis', () => {
    const before = ticks(chart());
    change(one('[name=x-axis]'), 'tokens');
    return before !== ticks(chart());
  });
  attempt('smoothing', () => {
    const before = one('path.series', chart()).getAttribute('d');
    change(one('[name=smoothing]'), '0.9');
    return before !== one('path.series:not(.raw)', chart()).getAttribute('d');
  });
  attempt('runs', () => {
    const before = all('path.series', chart()).length;
    change(one('input[name=run][value="1"]'), false);
    const hidden = all('path.series', chart()).length;
    change(one('input[name=run][value="1"]'), true);
    return hidden < before && all('path.series', chart()).length === before;
  });
  attempt('sentence', () => {
    const figure = one('figure.attention');
    const before = one('svg', figure).textContent;
    const select = one('[name=sentence]', figure);
    change(select, select.options[select.options.length - 1].value);
    return select.options.length > 1 && before !== one('svg', figure).textContent;
  });
  attempt('head', () => {
    const figure = one('figure.attention');
    const before = one('svg', figure).innerHTML;
    change(one('[name=head]', figure), one('[name=head]', figure).options[1].value);
    return before !== one('svg', figure).innerHTML;
  });
  attempt('sort', () => {
    const table = one('table.sortable');
    one('th button', table).click();
    return one('th[aria-sort]', table) !== null;
  });
  attempt('scripts', () => document.scripts.length);
  attempt('injected', () => Boolean(window.injected));
  attempt('resources', () => performance.getEntriesByType('resource').map(({name}) => name)
    .filter((name) => !name.startsWith('data:')).length);

  const output = document.createElement('pre');
  output.id = 'results';
  output.textContent = JSON.stringify(results);
  document.body.append(output);
})();
