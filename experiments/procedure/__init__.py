"""What travels to the network and measures in it: the procedure and its proof."""
