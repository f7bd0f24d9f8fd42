"""Published figures as CSV: quantity, one column per condition, unit, and the source of the
figure.
"""
