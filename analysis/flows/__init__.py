"""What TCP did in a capture, in one streaming pass.

Connections and packets with times, losses and their kinds. `flows.read("h1-eth0.pcap",
packets=True)` gives a frame of connections, a frame of packets and facts of the file;
analysis.flows.columns defines every column.
"""

from analysis.flows.reader import FileFacts, Reading, find_engine, read

__all__ = ["FileFacts", "Reading", "find_engine", "read"]
