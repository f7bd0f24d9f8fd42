"""What TCP did in a capture: connections and packets with times, losses and their kinds, in one streaming pass.

from analysis import flows
read = flows.read("h1-eth0.pcap", packets=True)
read.connections   # one row a connection; analysis.flows.columns defines every column
read.packets       # one row a segment
"""
