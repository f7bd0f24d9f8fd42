"""What many runs say together: rows of a table, statistics, and one page."""
