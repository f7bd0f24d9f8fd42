"""The lab about retransmission."""
