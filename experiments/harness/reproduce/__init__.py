"""Published numbers beside ours: which run gives each, all runs on the engine, one page."""
