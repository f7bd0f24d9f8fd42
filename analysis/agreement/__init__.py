"""How far our columns are tcptrace's, field by field, and how far both are what the kernel
counted.
"""
