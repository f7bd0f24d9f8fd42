"""Code of the guest, or of native runs, with the standard library and Mininet only."""
