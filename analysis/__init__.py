"""A run directory becomes records, then measures, then tables, graphs and written answers.

Needs neither root nor Mininet nor the lab kernel: everything is read from the run directory,
which is untrusted input (see `analysis.records.run_directory`). Any capture is read by
`analysis.read`:

    import analysis
    read = analysis.read("trace.pcap", packets=True)
    read.connections, read.packets  # data frames; analysis.flows.columns defines their columns
"""

from analysis.flows import FileFacts, Reading, read

__all__ = ["FileFacts", "Reading", "read"]
