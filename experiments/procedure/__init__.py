"""What travels to the network and measures there: the procedure and its proof."""
