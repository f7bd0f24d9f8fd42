"""The machinery that studies share: runs, sweeps, reproductions, the live page, commands."""
