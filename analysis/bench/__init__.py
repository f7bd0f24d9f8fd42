"""What reading a capture costs: ours beside tcptrace and, where they are installed, tshark, dpkt
and Scapy.
"""
