"""How far our columns agree with tcptrace's, field by field, and both with the kernel's counts."""
