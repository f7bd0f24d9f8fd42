"""The report's graphs, drawn with matplotlib's Agg so that neither a screen nor a browser is needed."""
