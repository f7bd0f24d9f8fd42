"""Every published number beside ours: which run gives it, all runs on the engine, one page."""
