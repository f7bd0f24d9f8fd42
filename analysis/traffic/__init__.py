"""The packets of a trial at each end and port, and how long each took and waited."""
