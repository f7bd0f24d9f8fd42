{# The contract of boards, for every page that draws (report, sweep, captures, live page). A template includes
"theme.css", "plots/plots.css" and, in a script, "plots/plots.js"; then:

   const board = new PlotBoard(container, { name, looks, series, columns, narrowest, onPick,
     onDraw });
   await board.show(graphs, [left, right]);   // replaces what is there; the span of the time axis
   board.update(key, () => layers);           // other layers in one graph, made when it is drawn
                                              // next, of columns that are there; the zoom stays
   board.setSpan([left, right]);              // another time axis; zoomed-out plots follow
   board.setPlayhead(x); board.onPlayhead = (x) => ...   // a stage's time, which graphs move
   board.zoom(left, right); board.range(); board.counts(); board.redraw(); board.showLegends();

All options may be left out: `name` keeps the zoom in the address (#name=left..right), `looks`
are looks by name, `series` the colours of numbered series, `columns` a ColumnStore, `narrowest`
the closest zoom, `onPick(mark, plot)` a click or Enter on a mark; mark is {layer, at, x, y};
`onDraw(plot, frame)` follows each drawing on the screen.

   graph  {key, title, caption, x, y, layers, overTime, height, heading}; key is the section's id.
          If the page has <section id=key> with a <div class="plot">, the graph is drawn there
   axis   {label, unit, scale, ticks: [[value, name], ...], zero, log, range: [low, high]};
          a value times scale is in unit ("B" and "bit/s" get k, M, G); only unit and label needed.
          `clock`: when the 0 of an axis in seconds was, in ns since 1970, as text
   layer  {shape, x, y, top, end, look, series, words, fields: [[name, values], ...], notes}
          x ascending; columns are Float64Array or arrays; `fields` and `notes` (texts) are told
          for a mark; `words` name it in the legend, equal words are one entry; `series` is a
          number that gives colour and dash
   look   a name in `looks`, or {colour, width, dash, mark, every, letter, fit, faint}:
          mark triangle, circle, square, diamond, cross, plus, ring; every: all are drawn at any
          zoom; fit: false may leave the height
   shape  line, stairs (y holds until the next x), dots, bars (stroke from (x, y) to (end or x,
          top)), arrows, rate (the steepness of the sum y), band (from y to top), level (a line
          across at y), moments (ticks at the top; dashed: lines down), boxes (filled from (x, y)
          to (end, top))

A column may be a place in `columns` instead: layer.columns = {x: 3, ...}, fields [[name, 4]]. #}
{% include "plots/decode.js" %}
{% include "plots/theme.js" %}
{% include "plots/axes.js" %}
{% include "plots/clock.js" %}
{% include "plots/marks.js" %}
{% include "plots/shapes.js" %}
{% include "plots/nearest.js" %}
{% include "plots/legend.js" %}
{% include "plots/plot.js" %}
{% include "plots/tooltip.js" %}
{% include "plots/pointer.js" %}
{% include "plots/table.js" %}
{% include "plots/pictures.js" %}
{% include "plots/board.js" %}
