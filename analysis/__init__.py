"""What happened: a run directory becomes records, then measures, then tables, graphs and written answers.

Needs neither root nor Mininet nor the lab kernel: everything is read from the run directory, which is
untrusted input (see `analysis.rundirectory`).
"""
