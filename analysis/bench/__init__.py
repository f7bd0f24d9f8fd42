"""What reading a capture costs: ours beside tcptrace, tshark, dpkt and Scapy, if installed."""
