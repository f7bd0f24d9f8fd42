"""TCP connections and packets of a capture, measured in one streaming pass.

`flows.read("h1-eth0.pcap", packets=True)` returns tables of connections and packets, and facts of
the file. analysis.flows.columns defines every column. The engine is the crate in `core/`.
"""

from analysis.flows.reader import FileFacts, Reading, load_engine, read

__all__ = ["FileFacts", "Reading", "load_engine", "read"]
