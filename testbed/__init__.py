"""Where an experiment runs: natively on this kernel, or in a guest's lab kernel in virtual time."""

VERSION = "0.2.0"
