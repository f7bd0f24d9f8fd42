"""A verdict on the network of a run: did it do what was asked, as far as the run tells."""
