"""The live page: values of a link are moved, and real TCP answers."""
