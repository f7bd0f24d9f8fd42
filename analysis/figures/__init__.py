"""The report's graphs, drawn with matplotlib's Agg: neither screen nor browser is needed."""

import logging

# "Matplotlib is building the font cache" is no news for the user of an experiment.
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
