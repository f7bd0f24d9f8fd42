"""Runs on the kernel of this computer, as root and in real time."""
