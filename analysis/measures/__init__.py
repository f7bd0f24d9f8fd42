"""The table of metrics, and their values for each trial, flow, capture and sweep.

The packets of a trial at each end and port, and how long each took and waited.
"""
