"""The table of metrics, and their values for each trial, flow, capture and sweep."""
