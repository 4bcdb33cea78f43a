(() => {
  const config = {{ config }};
  const saving = (format, icon) => ({ name: format, title: 'Save as ' + format.toUpperCase(), icon,
    click: plot => Plotly.downloadImage(plot, { format, filename: plot.id, scale: 2 }) });
  config.modeBarButtons = [[saving('png', Plotly.Icons.camera), saving('svg', Plotly.Icons.disk)]];
  const plots = [...document.querySelectorAll('.plot')];
  const drawn = plots.map(plot => {
    const figure = JSON.parse(document.getElementById(plot.id + '-data').textContent);
    plot.dataset.height = figure.layout.height || 320;
    return Plotly.newPlot(plot, figure.data, figure.layout, { ...config });
  });
  Promise.all(drawn).then(() => { document.documentElement.dataset.drawn = plots.length; });
  const sized = width => plots.forEach(plot => Plotly.relayout(plot, width ? { width, autosize: false } :
    { width: null, autosize: true }));
  window.addEventListener('beforeprint', () => sized({{ printed }}));
  window.addEventListener('afterprint', () => sized(0));
})();
