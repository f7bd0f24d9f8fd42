"""The live page: a user changes values of a link, and real TCP answers."""
